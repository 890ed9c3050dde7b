#include "place.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Where /proc is not mounted, the command's path is what execve was given. */
void wf_place_own(char ret_path[PATH_MAX])
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	ssize_t len = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);

	ret_path[len > 0 ? len : 0] = '\0';
	if (len < 0 && (given == NULL || realpath(given, ret_path) == NULL))
		ret_path[0] = '\0';
}

bool wf_place_real(const char *path, char ret_path[PATH_MAX])
{
	return realpath(path, ret_path) != NULL;
}
