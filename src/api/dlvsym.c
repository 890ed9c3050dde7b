/*
 * dlvsym(): weft's names carry no version, so a search for one version of a
 * name would pass by weft to libc. ThreadSanitizer and libfaketime search
 * so for condition variables, whose mutexes they have from weft. The stub is
 * api/x86_64/dlvsym.S.
 */
#include <dlfcn.h>
#include <stdbool.h>

#include "api/api.h"
#include "libc/elf.h"

void *wf_api_dlvsym(void *handle, const char *name);

/*
 * Called by the stub; returns libc's function that does the search. It may be
 * the first call that ever comes to weft, so nothing is remembered.
 */
void *wf_api_dlvsym(void *handle, const char *name)
{
	bool along_all = handle == RTLD_NEXT || handle == RTLD_DEFAULT;
	bool is_ours = along_all && wf_elf_symbol("libweft.so", name) != NULL;

	return wf_elf_symbol("libc.so", is_ours ? "dlsym" : "dlvsym");
}
