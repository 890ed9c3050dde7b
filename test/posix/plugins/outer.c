/* SPDX-License-Identifier: MIT */
/* Opens a library that only this module's own RUNPATH leads to. */
#include <dlfcn.h>

/*
 * dlopen uses its return address to find the calling module, so no tail call.
 */
void *outer_open(const char *name)
{
	void *volatile module = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	return module;
}
