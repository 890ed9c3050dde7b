/* SPDX-License-Identifier: MIT */
/*
 * stat() and its variants, for paths in /proc with ids of weft's threads.
 * Sandboxes count the threads of their process by the link count of
 * /proc/self/task. So a question about it may end the runtime first.
 */
/* Otherwise libc's headers rename each function to its 64-bit variant. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "api/api.h"
#include "api/proc/proc.h"
#include "libc/real.h"

WF_API(int, stat, const char *restrict path, struct stat *restrict ret)
{
	struct wf_proc_path p;

	wf_proc_ask(path);
	return wf_real.stat(wf_proc_path(path, &p), ret);
}
WF_API_ALIAS_64(stat, stat64);

WF_API(int, lstat, const char *restrict path, struct stat *restrict ret)
{
	struct wf_proc_path p;

	wf_proc_ask(path);
	return wf_real.lstat(wf_proc_path(path, &p), ret);
}
WF_API_ALIAS_64(lstat, lstat64);

WF_API(int, fstatat, int dirfd, const char *restrict path,
       struct stat *restrict ret, int flags)
{
	struct wf_proc_path p;

	wf_proc_ask(path);
	return wf_real.fstatat(dirfd, wf_proc_path(path, &p), ret, flags);
}
WF_API_ALIAS_64(fstatat, fstatat64);

WF_API(int, statx, int dirfd, const char *restrict path, int flags,
       unsigned int mask, struct statx *restrict ret)
{
	struct wf_proc_path p;

	wf_proc_ask(path);
	return wf_real.statx(dirfd, wf_proc_path(path, &p), flags, mask, ret);
}

/* --- programs that were linked with libc before 2.33 ---------------------- */

/* The version of struct stat: with 64 bits libc has the kernel's layout. */
enum { MOST_VERSION = 1 };

int __xstat(int version, const char *path, struct stat *ret);
int __lxstat(int version, const char *path, struct stat *ret);
int __fxstatat(int version, int dirfd, const char *path, struct stat *ret,
	       int flags);

WF_API(int, __fxstatat, int version, int dirfd, const char *path,
       struct stat *ret, int flags)
{
	if (version < 0 || version > MOST_VERSION)
		return wf_api_errno(-EINVAL);
	return fstatat(dirfd, path, ret, flags);
}
WF_API_ALIAS_64(__fxstatat, __fxstatat64);

WF_API(int, __xstat, int version, const char *path, struct stat *ret)
{
	return __fxstatat(version, AT_FDCWD, path, ret, 0);
}
WF_API_ALIAS_64(__xstat, __xstat64);

WF_API(int, __lxstat, int version, const char *path, struct stat *ret)
{
	return __fxstatat(version, AT_FDCWD, path, ret, AT_SYMLINK_NOFOLLOW);
}
WF_API_ALIAS_64(__lxstat, __lxstat64);
