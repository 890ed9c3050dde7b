/* SPDX-License-Identifier: MIT */
/*
 * The fast way into a program. libc's own start reads the CPU's features by
 * dozens of cpuid, each of which takes 8 us under a hypervisor, and touches
 * thirty pages. That is more than the whole work of `weft run`. So the command
 * starts here, without libc, and becomes the program unless a step fails.
 *
 * BARE-1. The objects of this part refer to nothing outside except libc's
 *     _start: no libc, no thread register, no errno. They are linked first,
 *     with their names hidden; test/cli/test_bare.py checks the result.
 * BARE-2. This part leaves arguments, variables and descriptors as they are. If
 *     a step fails, or there is a line to print, it returns silently. Then
 *     main() takes the same steps again and prints.
 */
#include <fcntl.h>
#include <string.h>

#include "cli.h"
#include "environment.h"
#include "os/sys.h"
#include "place.h"
#include "prepare.h"
#include "text.h"

static bool has_complained;

/* Prints nothing (BARE-2); the function of this name in main.c prints. */
int wf_complain(int status, const char *fmt, ...)
{
	has_complained = true;
	return status;
}

const char *wf_error_text(int err)
{
	return "";
}

static bool read_link(const char *path, char ret_path[PATH_MAX])
{
	long len = wf_sys(SYS_readlink, path, ret_path, PATH_MAX - 1);

	ret_path[len > 0 ? len : 0] = '\0';
	return len > 0;
}

bool wf_place_own(char ret_path[PATH_MAX])
{
	return read_link("/proc/self/exe", ret_path);
}

static bool read_descriptor(long fd, char ret_path[PATH_MAX])
{
	char link[32] = "/proc/self/fd/";
	char digits[16];
	char *digit = digits + sizeof(digits) - 1;

	*digit = '\0';
	do
		*--digit = (char)('0' + fd % 10);
	while ((fd /= 10) != 0);
	return wf_text_append(link, sizeof(link), digit) &&
	       read_link(link, ret_path);
}

bool wf_place_real(const char *path, char ret_path[PATH_MAX])
{
	long fd = wf_sys(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
	bool is_known;

	if (fd < 0)
		return false;
	/*
	 * The kernel writes "(unreachable)" before a path outside of the root.
	 */
	is_known = read_descriptor(fd, ret_path) && ret_path[0] == '/';
	wf_sys(SYS_close, fd);
	return is_known;
}

/*
 * Becomes the program, or returns if main() has to do the work. `stack` is as
 * the kernel has made it.
 */
void wf_bare_main(long *stack);
void wf_bare_main(long *stack)
{
	char **argv = (char **)(stack + 1);
	char **envp = argv + stack[0] + 1;
	static struct wf_prepared prepared;

	if (stack[0] < 2 || strcmp(argv[1], "run") != 0)
		return;
	if (wf_environment_begin(envp) &&
	    wf_prepare(argv + 1, &prepared) == 0 && !has_complained)
		wf_sys(SYS_execve, prepared.path, prepared.argv,
		       wf_environment_all());
}
