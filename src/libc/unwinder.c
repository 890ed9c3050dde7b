/* SPDX-License-Identifier: MIT */
/*
 * A program in C needs no unwinder until libc does. If weft were linked with
 * libgcc_s, every program would load it at start. That takes 0.1 ms, since
 * libgcc_s executes cpuid, which costs 8 us each time on virtual machines. So
 * weft loads it at the first use.
 *
 * Which unwinder is used follows from the order of all libraries, as if weft
 * were linked with libgcc_s. An unwinder that the program is linked with comes
 * first.
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
	/*
	 * A lookup in libc itself: another library may have replaced dlopen and
	 * dlsym, and weft replaces dlopen.
	 */
	open_fn open = (open_fn)wf_elf_symbol("libc.so", "dlopen");
	search_fn search = (search_fn)wf_elf_symbol("libc.so", "dlsym");
	void *found = NULL;

	if (open("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL)
		found = search(RTLD_DEFAULT, name);
	WF_CHECK(found != NULL, "libgcc_s.so.1 has to be there for exceptions "
				"and cancellation");
	return found;
}
