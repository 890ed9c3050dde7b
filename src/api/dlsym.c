/* SPDX-License-Identifier: MIT */
/*
 * dlsym(), dlvsym() and dlopen(): a program that searches for a function of
 * libc by name gets weft's. Each name is a stub (api/x86_64/dlsym.S) that calls
 * a function here and then jumps to the function that it returns.
 *
 * A dlsym() through all objects finds weft's functions, as the loader does.
 * weft's names have no version, so a search for one version of a name would
 * skip weft and find libc. ThreadSanitizer and libfaketime search for condition
 * variables with a version, and their mutexes are weft's. So dlvsym() becomes
 * dlsym() for names that weft has.
 *
 * If a search in one library finds libc's own function, the result is weft's:
 * Python's ctypes, Java's JNA and LuaJIT's ffi open libc to call its functions.
 *
 * A library that is opened with RTLD_DEEPBIND would find libc's functions
 * before weft's. It would use the program's locks by libc's functions. So
 * dlopen ignores that flag.
 */
#include <dlfcn.h>
#include <stdbool.h>

#include "api/api.h"
#include "libc/elf.h"

typedef void *(*search_fn)(void *handle, const char *name);
typedef void *(*versioned_search_fn)(void *handle, const char *name,
				     const char *version);
typedef char *(*error_fn)(void);

void *wf_api_dlsym(void *handle);
void *wf_api_dlvsym(void *handle, const char *name);
void *wf_api_dlopen(void);

static void *own(const char *name)
{
	return wf_elf_symbol("libweft.so", name);
}

static bool is_along_all(const void *handle)
{
	return handle == RTLD_NEXT || handle == RTLD_DEFAULT;
}

/* Returns `found`, or weft's function if default_found is libc's. */
static void *own_for(void *found, const void *default_found, const char *name)
{
	void *ours = found != NULL ? own(name) : NULL;

	return ours != NULL && default_found == wf_elf_symbol("libc.so", name) ?
		       ours :
		       found;
}

static void *search(void *handle, const char *name)
{
	search_fn real = (search_fn)wf_elf_symbol("libc.so", "dlsym");
	void *found = real(handle, name);

	return own_for(found, found, name);
}

static void *search_version(void *handle, const char *name, const char *version)
{
	search_fn real = (search_fn)wf_elf_symbol("libc.so", "dlsym");
	versioned_search_fn versioned =
		(versioned_search_fn)wf_elf_symbol("libc.so", "dlvsym");
	void *found = versioned(handle, name, version), *default_found;

	if (found == NULL || own(name) == NULL)
		return found;
	default_found = real(handle, name);
	if (default_found != NULL)
		return own_for(found, default_found, name);
	/* libc has only an old version: clears dlerror() for the program. */
	((error_fn)wf_elf_symbol("libc.so", "dlerror"))();
	return own_for(found, found, name);
}

/*
 * The stubs call these, and jump to the function that they return. This may be
 * the first call of weft in the process, so the functions keep no state.
 */
void *wf_api_dlsym(void *handle)
{
	return is_along_all(handle) ? wf_elf_symbol("libc.so", "dlsym") :
				      (void *)search;
}

void *wf_api_dlvsym(void *handle, const char *name)
{
	if (!is_along_all(handle))
		return (void *)search_version;
	return wf_elf_symbol("libc.so", own(name) != NULL ? "dlsym" : "dlvsym");
}

void *wf_api_dlopen(void)
{
	return wf_elf_symbol("libc.so", "dlopen");
}
