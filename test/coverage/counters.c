/* SPDX-License-Identifier: MIT */
/*
 * Linked into each program and library of the coverage build. The compiler's
 * counters lie in their own pages (counters.ld). These are mapped from a file
 * that all processes with this program or library share. So each executed line
 * counts at once, however the process ends.
 *
 * With COVERAGE_DUMP set the process writes all counts in gcov's format, and
 * ends.
 *
 * A process that cannot open the file, in a sandbox or without descriptors,
 * only counts for itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "os/sys.h"

struct gcov_info;

/* Symbols of counters.ld. */
extern _Atomic int64_t coverage_begin[], coverage_end[];
extern const struct gcov_info *const coverage_infos_begin[];
extern const struct gcov_info *const coverage_infos_end[];

/* Functions of libgcov. */
void __gcov_init(const struct gcov_info *info);
void __gcov_dump(void);

/*
 * FOLDER/PATH.counters with '!' for '/', so that the program's path can be
 * recovered.
 */
static bool path_of(char *ret, size_t size)
{
	const char *folder = COVERAGE_FOLDER "/";
	size_t at = strlen(folder);
	long length = (long)strlen(COVERAGE_NAME);

	memcpy(ret, folder, at);
	memcpy(ret + at, COVERAGE_NAME, (size_t)length);
	if (strcmp(COVERAGE_NAME, "program") == 0)
		length = wf_sys(SYS_readlink, "/proc/self/exe", ret + at,
				size - at - 16);
	if (length <= 0 || at + (size_t)length > size - 16)
		return false;
	for (size_t i = at; i < at + (size_t)length; i++)
		ret[i] = ret[i] == '/' ? '!' : ret[i];
	strcpy(ret + at + (size_t)length, ".counters");
	return true;
}

static long open_counters(const char *path)
{
	return wf_sys(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
}

/*
 * Makes the file under another name until it has its size. If another process
 * was faster, its file stays.
 */
static void make_counters(const char *path, size_t bytes)
{
	char own[4096 + 16];
	long fd;

	snprintf(own, sizeof(own), "%s.%ld", path, wf_sys(SYS_getpid));
	fd = wf_sys(SYS_openat, AT_FDCWD, own, O_RDWR | O_CREAT | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return;
	wf_sys(SYS_fchmod, fd, 0666);
	if (wf_sys(SYS_ftruncate, fd, bytes) == 0)
		wf_sys(SYS_linkat, AT_FDCWD, own, AT_FDCWD, path, 0);
	wf_sys(SYS_unlinkat, AT_FDCWD, own, 0);
	wf_sys(SYS_close, fd);
}

static void map_counters(void)
{
	size_t bytes = (size_t)((char *)coverage_end - (char *)coverage_begin);
	size_t nr = bytes / sizeof(coverage_begin[0]);
	_Atomic int64_t *shared;
	char path[4096];
	long fd, at;

	if (!path_of(path, sizeof(path)))
		return;
	/*
	 * Most processes find the file, and so make no calls that a filter
	 * refuses.
	 */
	fd = open_counters(path);
	if (fd == -ENOENT) {
		make_counters(path, bytes);
		fd = open_counters(path);
	}
	if (fd < 0)
		return;
	at = wf_sys(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (at < 0 && at > -4096) {
		wf_sys(SYS_close, fd);
		return;
	}
	/* Add the counts of this process so far. */
	shared = (_Atomic int64_t *)at;
	for (size_t i = 0; i < nr; i++) {
		if (coverage_begin[i] != 0)
			shared[i] += coverage_begin[i];
	}
	wf_sys(SYS_munmap, at, bytes);
	wf_sys(SYS_mmap, coverage_begin, bytes, PROT_READ | PROT_WRITE,
	       MAP_SHARED | MAP_FIXED, fd, 0);
	wf_sys(SYS_close, fd);
}

static void dump(void)
{
	for (const struct gcov_info *const *i = coverage_infos_begin;
	     i < coverage_infos_end; i++)
		__gcov_init(*i);
	__gcov_dump();
}

/*
 * Uses ld.so's arguments, because libc has none yet if this library is the
 * first.
 */
__attribute__((constructor(101))) static void start(int argc, char **argv,
						    char **environment)
{
	map_counters();
	for (; *environment != NULL; environment++) {
		if (strcmp(*environment, "COVERAGE_DUMP=" COVERAGE_NAME) != 0)
			continue;
		dump();
		wf_sys(SYS_exit_group, 0);
	}
}
