/* SPDX-License-Identifier: MIT */
/* Libraries that a test loads, which lie beside it. */
#ifndef MODULES_H
#define MODULES_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/*
 * Returns NULL if it cannot be loaded. name: relative to the program's folder
 */
static inline void *module_try_open_by(const char *name, int mode)
{
	char path[600];
	ssize_t length = readlink("/proc/self/exe", path, 400);

	CHECK(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/') + 1, name);
	return dlopen(path, mode);
}

static inline void *module_try_open(const char *name)
{
	return module_try_open_by(name, RTLD_NOW | RTLD_LOCAL);
}

/* mode: a mode of dlopen */
static inline void *module_open_by(const char *name, int mode)
{
	void *module = module_try_open_by(name, mode);

	if (module == NULL)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(module != NULL);
	return module;
}

static inline void *module_open(const char *name)
{
	return module_open_by(name, RTLD_NOW | RTLD_LOCAL);
}

/* Loads a second libc, with none of weft's interposed functions. */
static inline void *module_second_libc(void)
{
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);

	CHECK(libc != NULL);
	return libc;
}

static inline void *module_symbol(void *module, const char *name)
{
	void *symbol = dlsym(module, name);

	CHECK(symbol != NULL);
	return symbol;
}

#endif
