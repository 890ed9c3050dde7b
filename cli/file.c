/* SPDX-License-Identifier: MIT */
/*
 * Opens and maps files by raw system calls, since bare.c runs without libc.
 */
#include "file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/sys.h"

static int map(const char *path, long protection, char **ret_bytes,
	       size_t *ret_size)
{
	long fd = wf_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	long r;

	if (fd < 0)
		return (int)fd;
	r = wf_sys(SYS_fstat, fd, &st);
	if (r == 0)
		r = wf_sys(SYS_mmap, NULL, st.st_size, protection, MAP_PRIVATE,
			   fd, 0);
	wf_sys(SYS_close, fd);
	if (r < 0 && r > -4096)
		return (int)r;
	*ret_bytes = (char *)r;
	*ret_size = (size_t)st.st_size;
	return 0;
}

int wf_file_map(const char *path, char **ret_bytes, size_t *ret_size)
{
	return map(path, PROT_READ, ret_bytes, ret_size);
}

int wf_file_try_execute(const char *path)
{
	size_t size = 0;
	char *bytes = NULL;
	int err = map(path, PROT_READ | PROT_EXEC, &bytes, &size);

	if (err == 0)
		wf_file_unmap(bytes, size);
	return err;
}

void wf_file_unmap(char *bytes, size_t size)
{
	wf_sys(SYS_munmap, bytes, size);
}
