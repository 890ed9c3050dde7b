#include "thread/scope.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "base/options.h"
#include "os/sys.h"
#include "sched/carrier.h"

bool wf_scope_is_debugged;

/* What the file begins with, as a string. */
static void read_file(const char *path, char *buf, size_t bytes)
{
	long fd = wf_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd >= 0 ? wf_sys(SYS_read, fd, buf, bytes - 1) : 0;

	if (fd >= 0)
		wf_sys(SYS_close, fd);
	buf[n > 0 ? n : 0] = '\0';
}

/* Those that step: gdb, gdbserver, lldb, lldb-server. Others, as strace, see
 * system calls and need no thread to stay where it is. */
void wf_scope_start(void)
{
	static const char key[] = "TracerPid:\t";
	char status[512], path[32] = "/proc/", comm[16];
	const char *pid;
	size_t digits;

	wf_scope_is_debugged = false;
	read_file("/proc/self/status", status, sizeof(status));
	pid = strstr(status, key);
	if (pid == NULL)
		return;
	pid += sizeof(key) - 1;
	digits = strspn(pid, "0123456789");
	if (digits == 0 || digits > 10 || pid[0] == '0')
		return;
	memcpy(path + strlen(path), pid, digits);
	strcpy(path + strlen("/proc/") + digits, "/comm");
	read_file(path, comm, sizeof(comm));
	wf_scope_is_debugged = strncmp(comm, "gdb", 3) == 0 ||
			       strncmp(comm, "lldb", 4) == 0;
}

bool wf_scope_has_room(void)
{
	enum { MOST = 2000 };

	return wf_carrier_count() < MOST;
}

/* The program itself has no name in the loader's list. */
static const char *program_path(char buf[PATH_MAX])
{
	long len = wf_sys(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf,
			  PATH_MAX - 1);

	buf[len > 0 ? len : 0] = '\0';
	return buf;
}

bool wf_scope_matches_slow(const void *start)
{
	const char *pattern = wf_options.bound;
	char buf[PATH_MAX];
	struct link_map *map;
	const char *path, *slash;
	Dl_info info;

	if (dladdr1(start, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
		return false; /* code that no object holds */
	path = map->l_name[0] != '\0' ? map->l_name : program_path(buf);
	slash = strrchr(path, '/');
	if (slash != NULL && strchr(pattern, '/') == NULL)
		path = slash + 1;
	return strstr(path, pattern) != NULL;
}
