/* SPDX-License-Identifier: MIT */
/* Opens a library that only this module's own RUNPATH leads to. */
#include <dlfcn.h>

/* No tail call: dlopen takes the module that it returns to for its caller. */
void *outer_open(const char *name)
{
	void *volatile module = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	return module;
}
