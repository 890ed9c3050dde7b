/* Opens a library that only this module's own RUNPATH leads to. */
#include <dlfcn.h>
#include <stddef.h>

void *outer_open(const char *name)
{
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
