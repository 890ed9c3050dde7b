/*
 * Linked into what is built for coverage. The counters that the compiler adds
 * lie in pages of their own (counters.ld); they are mapped from a file that all
 * processes with this program or library share. So what a process has executed
 * is counted at once, and it does not matter how it ends.
 *
 * With COVERAGE_DUMP set the process writes what has been counted by all, as
 * gcov reads it, and ends.
 *
 * A process that cannot open the file, in a sandbox or without descriptors,
 * counts for itself alone.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct gcov_info;

/* From counters.ld. */
extern _Atomic int64_t coverage_begin[], coverage_end[];
extern const struct gcov_info *const coverage_infos_begin[];
extern const struct gcov_info *const coverage_infos_end[];

/* libgcov's. */
void __gcov_init(const struct gcov_info *info);
void __gcov_dump(void);

/* System calls by themselves: those of a library that is not there yet would
 * have to be interposed before it is. */
static long call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* FOLDER/PATH.counters with '!' for '/', so that a program is found again. */
static bool path_of(char *ret, size_t size)
{
	const char *folder = COVERAGE_FOLDER "/";
	size_t at = strlen(folder);
	long length = (long)strlen(COVERAGE_NAME);

	memcpy(ret, folder, at);
	memcpy(ret + at, COVERAGE_NAME, (size_t)length);
	if (strcmp(COVERAGE_NAME, "program") == 0)
		length = call(SYS_readlink, (long)"/proc/self/exe",
			      (long)(ret + at), (long)(size - at - 16), 0, 0,
			      0);
	if (length <= 0 || at + (size_t)length > size - 16)
		return false;
	for (size_t i = at; i < at + (size_t)length; i++)
		ret[i] = ret[i] == '/' ? '!' : ret[i];
	strcpy(ret + at + (size_t)length, ".counters");
	return true;
}

static bool map_counters(void)
{
	size_t bytes = (size_t)((char *)coverage_end - (char *)coverage_begin);
	size_t nr = bytes / sizeof(coverage_begin[0]);
	_Atomic int64_t *shared;
	char path[4096];
	long fd, at;

	if (!path_of(path, sizeof(path)))
		return false;
	fd = call(SYS_openat, AT_FDCWD, (long)path,
		  O_RDWR | O_CREAT | O_CLOEXEC, 0666, 0, 0);
	if (fd < 0)
		return false;
	call(SYS_fchmod, fd, 0666, 0, 0, 0, 0);
	at = call(SYS_ftruncate, fd, (long)bytes, 0, 0, 0, 0);
	if (at == 0)
		at = call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	if (at < 0 && at > -4096) {
		call(SYS_close, fd, 0, 0, 0, 0, 0);
		return false;
	}
	/* What has been executed before. */
	shared = (_Atomic int64_t *)at;
	for (size_t i = 0; i < nr; i++) {
		if (coverage_begin[i] != 0)
			shared[i] += coverage_begin[i];
	}
	call(SYS_munmap, at, (long)bytes, 0, 0, 0, 0);
	at = call(SYS_mmap, (long)coverage_begin, (long)bytes,
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	call(SYS_close, fd, 0, 0, 0, 0, 0);
	return at == (long)coverage_begin;
}

static void dump(void)
{
	for (const struct gcov_info *const *i = coverage_infos_begin;
	     i < coverage_infos_end; i++)
		__gcov_init(*i);
	__gcov_dump();
}

/* By ld.so's arguments: libc's are not there yet for a library that is the
 * first. */
__attribute__((constructor(101))) static void start(int argc, char **argv,
						    char **environment)
{
	map_counters();
	for (; *environment != NULL; environment++) {
		if (strcmp(*environment, "COVERAGE_DUMP=" COVERAGE_NAME) != 0)
			continue;
		dump();
		call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
}
