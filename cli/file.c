#include "file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "os/sys.h"

char *wf_file_map(const char *path, size_t *ret_size)
{
	long fd = wf_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	long r;

	if (fd < 0)
		return NULL;
	r = wf_sys(SYS_fstat, fd, &st);
	if (r == 0)
		r = wf_sys(SYS_mmap, NULL, st.st_size, PROT_READ, MAP_PRIVATE,
			   fd, 0);
	wf_sys(SYS_close, fd);
	if (r < 0 && r > -4096)
		return NULL;
	*ret_size = (size_t)st.st_size;
	return (char *)r;
}

void wf_file_unmap(char *bytes, size_t size)
{
	wf_sys(SYS_munmap, bytes, size);
}
