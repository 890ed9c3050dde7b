/* SPDX-License-Identifier: MIT */
/*
 * Unregisters the area in which the kernel tells a thread of libc its CPU. It
 * describes a kernel thread, and threads of weft move between kernel threads,
 * so they would read the wrong CPU. The kernel unregisters an area only if the
 * call has the length that libc has registered, which glibc does not publish.
 * glibc registers __rseq_size bytes, but at least the 32 of the first version;
 * until 2.40 __rseq_size was these 32. This tries that length and the lengths
 * of newer versions.
 *
 * The area may be written only after it is unregistered: the kernel ends a
 * process that has changed a registered area by SIGSEGV.
 */
#include "libc/rseq.h"

#include <errno.h>
#include <linux/rseq.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "arch/arch.h"
#include "base/compiler.h"
#include "libc/elf.h"
#include "libc/template.h"
#include "os/sys.h"

enum { FIRST_BYTES = 32, SIGNATURE = 0x53053053 };

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif

static size_t at_least_first(size_t bytes)
{
	return bytes > FIRST_BYTES ? bytes : FIRST_BYTES;
}

bool wf_rseq_unregister(void)
{
	const ptrdiff_t *offset = wf_elf_symbol("ld-linux", "__rseq_offset");
	const unsigned int *size = wf_elf_symbol("ld-linux", "__rseq_size");
	size_t feature_bytes = getauxval(AT_RSEQ_FEATURE_SIZE);
	struct rseq *area;

	if (offset == NULL || size == NULL || *size == 0)
		return false;
	area = (struct rseq *)(wf_cpu_thread_register() + *offset);
	const size_t lengths[] = {
		at_least_first(*size),
		FIRST_BYTES,
		at_least_first(feature_bytes),
		wf_align_up(at_least_first(feature_bytes), FIRST_BYTES),
	};

	for (size_t i = 0; i < WF_ARRAY_LEN(lengths); i++) {
		long err = wf_sys(SYS_rseq, area, lengths[i],
				  RSEQ_FLAG_UNREGISTER, SIGNATURE);

		if (err == 0) {
			area->cpu_id = WF_RSEQ_NO_CPU;
			return true;
		}
		if (err != -EINVAL)
			return false; /* a seccomp filter, or no such call */
	}
	return false;
}
