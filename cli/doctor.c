/*
 * weft doctor: what this system offers, and whether a program can run.
 *
 * Asks the system itself in each case, never a version number.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"
#include "path.h"
#include "preload.h"
#include "target.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* The first glibc whose threads weft knows how to make. */
#define LEAST_GLIBC_MINOR 34

static void row(const char *name, const char *text)
{
	printf("%-18s%s\n", name, text);
}

/* Maps a file to read; NULL if that cannot be done. */
static char *map_file(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0)
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
			     fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return NULL;
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* "2.36", from the text that libc.so.6 prints when it is executed. */
static bool read_glibc_version(const char *path, char *ret_version, size_t size)
{
	static const char marker[] = "release version ";
	size_t file_size, len = 0;
	char *bytes = map_file(path, &file_size);
	char *found;

	if (bytes == NULL)
		return false;
	found = memmem(bytes, file_size, marker, strlen(marker));
	if (found != NULL) {
		found += strlen(marker);
		while (len + 1 < size && found + len < bytes + file_size &&
		       strchr("0123456789.", found[len]) != NULL)
			len++;
		if (len > 0 && found[len - 1] == '.')
			len--; /* the full stop of the sentence */
		memcpy(ret_version, found, len);
		ret_version[len] = '\0';
	}
	munmap(bytes, file_size);
	return found != NULL;
}

static bool find_glibc(char *ret_version, size_t size)
{
	static const char *const paths[] = {
		"/lib/" WEFT_MULTIARCH "/libc.so.6",
		"/lib64/libc.so.6",
		"/lib/libc.so.6",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (read_glibc_version(paths[i], ret_version, size))
			return true;
	return false;
}

static bool report_glibc(void)
{
	char version[32];
	char text[96];

	if (!find_glibc(version, sizeof(version))) {
		row("C library", "no glibc in its usual places: programs that "
				 "need one cannot run");
		return false;
	}
	snprintf(text, sizeof(text), "glibc %s", version);
	if (strncmp(version, "2.", 2) != 0 ||
	    atoi(version + 2) < LEAST_GLIBC_MINOR) {
		snprintf(text, sizeof(text), "glibc %s: weft needs 2.%d",
			 version, LEAST_GLIBC_MINOR);
		row("C library", text);
		return false;
	}
	row("C library", text);
	return true;
}

static void report_kernel(void)
{
	struct utsname u;
	char text[sizeof(u.release) + sizeof(u.machine) + 16];

	if (uname(&u) < 0)
		return;
	snprintf(text, sizeof(text), "Linux %s on %s", u.release, u.machine);
	row("kernel", text);
}

static void report_cpus(void)
{
	char text[64];
	cpu_set_t cpus;
	int nr = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		nr = CPU_COUNT(&cpus);
	snprintf(text, sizeof(text), "%d allowed, so %d virtual processor%s",
		 nr, nr, nr == 1 ? "" : "s");
	row("CPUs", text);
}

static void report_switch(void)
{
#ifdef __x86_64__
	bool has_fsgsbase = (getauxval(AT_HWCAP2) & 2) != 0;

	row("FSGSBASE", has_fsgsbase ?
				"yes: threads switch without a system call" :
				"no: each switch costs a system call");
#endif
}

static void report_membarrier(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	row("membarrier",
	    commands >= 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) ?
		    "yes" :
		    "no: threads that block in the kernel hold up others");
}

static void report_guards(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool ok = p != MAP_FAILED && madvise(p, page, MADV_GUARD_INSTALL) == 0;

	row("stack guards", ok ? "MADV_GUARD_INSTALL: they cost no mapping" :
				 "mprotect: vm.max_map_count limits them");
}

static int report_system(void)
{
	char library[PATH_MAX];
	int status = wf_preload_find_library(library);
	bool ok;

	report_kernel();
	ok = report_glibc();
	report_cpus();
	report_switch();
	report_membarrier();
	report_guards();
	if (status == 0)
		row("libweft.so", library);
	return ok ? status : WF_EXIT_WEFT;
}

static int report_program(const char *program)
{
	struct wf_target target;
	char path[PATH_MAX];
	int status = wf_path_find(program, path);

	if (status == 0)
		status = wf_target_inspect(path, &target);
	if (status != 0)
		return status;
	row("program", path);
	if (strcmp(path, target.binary) != 0)
		row("interpreter", target.binary);
	if (target.loader[0] == '\0') {
		row("verdict", "unknown: its format is not known or it cannot "
			       "be read");
		return 0;
	}
	row("loader", target.loader);
	if (target.sanitizer[0] != '\0')
		row("preloaded first", target.sanitizer);
	row("verdict", "can run on weft");
	return 0;
}

int wf_doctor_main(char **argv)
{
	if (argv[1] == NULL)
		return report_system();
	if (argv[2] != NULL || argv[1][0] == '-')
		return wf_complain(WF_EXIT_WEFT,
				   "usage: weft doctor [PROGRAM]");
	return report_program(argv[1]);
}
