/* SPDX-License-Identifier: MIT */
/*
 * Finds the MPI library that the process has loaded, its functions, and tools
 * between this library and it. The process may have loaded the MPI library
 * with RTLD_LOCAL, as Python does. So the file is asked for by its name and
 * not searched for along all libraries.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mpi/mpi.h"

static struct wf_mpi_library library;

/* MPICH's, then those of libraries with MPICH's ABI, then Open MPI's. */
static const char *const file_names[] = { "libmpich.so.12", "libmpi.so.12",
					  "libmpi.so.40" };

void wf_mpi_say(const char *format, ...)
{
	char line[512];
	va_list list;
	int len;

	va_start(list, format);
	len = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (len > 0)
		dprintf(STDERR_FILENO, "weft: %s\n", line);
}

static _Noreturn void end(const char *problem, const char *name)
{
	wf_mpi_say("%s%s", problem, name);
	_exit(125);
}

static void use_mpich(void)
{
	library.status_ignore = 1;
	library.comm_world = 0x44000000;
	library.packed = 0x4c00010f;
}

/*
 * A handle of Open MPI is the address of a variable. If the program refers to
 * the variable, it may have a copy of it, which the library then uses, too.
 */
static wf_mpi_word open_mpi_handle(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (found == NULL)
		found = dlsym(library.handle, name);
	return (wf_mpi_word)found;
}

static void use_open_mpi(void)
{
	library.status_ignore = 0;
	library.comm_world = open_mpi_handle("ompi_mpi_comm_world");
	library.packed = open_mpi_handle("ompi_mpi_packed");
}

static void load(void)
{
	size_t nr = sizeof(file_names) / sizeof(*file_names);

	for (size_t i = 0; i < nr && library.handle == NULL; i++)
		library.handle = dlopen(file_names[i], RTLD_LAZY | RTLD_NOLOAD);
	if (library.handle == NULL)
		end("--mpi: the program calls MPI, and has loaded neither ",
		    "MPICH nor Open MPI; run it without --mpi");
	if (dlsym(library.handle, "ompi_mpi_comm_world") != NULL)
		use_open_mpi();
	else
		use_mpich();
}

const struct wf_mpi_library *wf_mpi_library(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	return &library;
}

wf_mpi_fn wf_mpi_library_find(const char *name)
{
	void *found = dlsym(wf_mpi_library()->handle, name);

	if (found == NULL)
		end("--mpi: the program's MPI library does not have ", name);
	return (wf_mpi_fn)found;
}

wf_mpi_fn wf_mpi_library_find_tool(const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);
	void *own = dlsym(wf_mpi_library()->handle, name);

	return next != own ? (wf_mpi_fn)next : NULL;
}
