/* SPDX-License-Identifier: MIT */
/*
 * dlsym() and dlvsym(), and dlopen().
 *
 * Along all objects, dlsym finds weft's functions as the loader does. weft's
 * names carry no version, so a search for one version of a name would pass by
 * weft to libc. ThreadSanitizer and libfaketime search so for condition
 * variables, whose mutexes they have from weft. The stubs that go on in libc's
 * functions are api/x86_64/dlsym.S.
 *
 * A search in one library that finds libc's own function gives weft's: Python's
 * ctypes, Java's JNA and LuaJIT's ffi open libc to call its functions.
 *
 * A library that is opened with RTLD_DEEPBIND would find libc's functions
 * before weft's, and handle the program's locks as libc does. So dlopen takes
 * no notice of that flag, as where another allocator is preloaded.
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

/* found, or weft's if what the handle leads to is libc's. */
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
	/* libc has an old version only. To the program that is no error. */
	((error_fn)wf_elf_symbol("libc.so", "dlerror"))();
	return own_for(found, found, name);
}

/*
 * Called by the stubs; they return the function that does the search. It may be
 * the first call that ever comes to weft, so nothing is remembered.
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
