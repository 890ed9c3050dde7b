/* SPDX-License-Identifier: MIT */
/*
 * Tries the folders of PATH in order, as execvp(3) does, by raw system calls.
 * Errors are explained in one line, since the kernel's error numbers are not
 * specific enough.
 */
#include "path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "environment.h"
#include "os/sys.h"
#include "text.h"

/*
 * Our own error for a path that is neither a regular file nor a directory. The
 * kernel returns EACCES for it.
 */
#define NOT_A_FILE ENXIO

/* Returns 0, or the error that executing the file would give. */
static int can_execute(const char *path, struct stat *ret_st)
{
	long err = wf_sys(SYS_newfstatat, AT_FDCWD, path, ret_st, 0);

	if (err < 0)
		return (int)-err;
	if (!S_ISREG(ret_st->st_mode))
		return S_ISDIR(ret_st->st_mode) ? EISDIR : NOT_A_FILE;
	err = wf_sys(SYS_faccessat2, AT_FDCWD, path, X_OK, AT_EACCESS);
	/*
	 * Kernels before 5.8 lack faccessat2. A command with other effective
	 * ids is refused anyway.
	 */
	if (err == -ENOSYS)
		err = wf_sys(SYS_faccessat, AT_FDCWD, path, X_OK);
	return (int)-err;
}

int wf_path_explain(const char *label, int err)
{
	switch (err) {
	case 0:
		return 0;
	case ENOENT:
	case ENOTDIR:
		return wf_complain(WF_EXIT_NOT_FOUND, "%s: no such program",
				   label);
	case EISDIR:
		return wf_complain(WF_EXIT_CANNOT_RUN,
				   "%s: a directory, not a program", label);
	case EACCES:
		return wf_complain(WF_EXIT_CANNOT_RUN,
				   "%s: not executable; check its permissions",
				   label);
	case NOT_A_FILE:
		return wf_complain(WF_EXIT_CANNOT_RUN,
				   "%s: a pipe, device or socket, not a "
				   "program",
				   label);
	default:
		return wf_complain(WF_EXIT_CANNOT_RUN, "%s: %s", label,
				   wf_error_text(err));
	}
}

/*
 * Joins dir, "" being the current directory, and name. Returns 0 or
 * ENAMETOOLONG.
 */
static int join(const char *dir, size_t len, const char *name,
		char ret_path[PATH_MAX])
{
	const char *slash = len > 0 ? "/" : "";

	ret_path[0] = '\0';
	if (wf_text_append_bytes(ret_path, PATH_MAX, dir, len) &&
	    wf_text_append(ret_path, PATH_MAX, slash) &&
	    wf_text_append(ret_path, PATH_MAX, name))
		return 0;
	return ENAMETOOLONG;
}

int wf_path_search(const char *program, char ret_path[PATH_MAX])
{
	const char *path = wf_environment_get("PATH");
	int err = ENOENT;
	struct stat st;

	if (*program == '\0')
		return ENOENT;
	if (strchr(program, '/') != NULL) {
		err = join("", 0, program, ret_path);
		return err == 0 ? can_execute(ret_path, &st) : err;
	}
	if (path == NULL)
		path = "/bin:/usr/bin"; /* as execvp(3) */
	for (;;) {
		size_t len = strcspn(path, ":");
		int e = join(path, len, program, ret_path);

		if (e == 0)
			e = can_execute(ret_path, &st);
		if (e == 0)
			return 0;
		if (e == EACCES || e == EISDIR || e == NOT_A_FILE)
			err = EACCES;
		if (path[len] == '\0')
			return err;
		path += len + 1;
	}
}

int wf_path_find(const char *program, char ret_path[PATH_MAX])
{
	int err = wf_path_search(program, ret_path);

	return wf_path_explain(*program != '\0' ? program : "''", err);
}

int wf_path_check(const char *label, const char *path, struct stat *ret_st)
{
	return wf_path_explain(label, can_execute(path, ret_st));
}

const char *wf_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}
