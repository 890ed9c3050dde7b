#include "thread/scope.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "base/options.h"
#include "os/sys.h"

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
