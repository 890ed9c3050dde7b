/* SPDX-License-Identifier: MIT */
/*
 * A program in C has no unwinder until libc needs one. Linked with libgcc_s,
 * weft brought it into each: to load it costs a tenth of a millisecond, as it
 * asks the CPU for its features by cpuid, on virtual machines 8 us each time.
 *
 * Which unwinder it is follows from the order of all libraries, as if weft were
 * linked with libgcc_s: one that the program is linked with comes first.
 */
#include "libc/unwinder.h"

#include <dlfcn.h>

#include "base/compiler.h"
#include "base/log.h"
#include "libc/elf.h"

typedef void *(*open_fn)(const char *name, int flags);
typedef void *(*search_fn)(void *handle, const char *name);

void *wf_unwinder_find(const char *name)
{
	/* Not whose names others may take, weft among them. */
	open_fn open = (open_fn)wf_elf_symbol("libc.so", "dlopen");
	search_fn search = (search_fn)wf_elf_symbol("libc.so", "dlsym");
	void *found = NULL;

	if (open("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL)
		found = search(RTLD_DEFAULT, name);
	WF_CHECK(found != NULL, "libgcc_s.so.1 has to be there for exceptions "
				"and cancellation");
	return found;
}
