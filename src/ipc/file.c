/* SPDX-License-Identifier: MIT */
/*
 * Creates, opens and maps the files of channels. A memfd gets seals: no process
 * can shrink it, so its pages stay readable, and a peer can only change its
 * contents. Named files cannot be sealed, since tmpfs creates them with
 * F_SEAL_SEAL; guard.c protects against shrinking instead.
 *
 * A named file is created without a name and linked when it is complete. So no
 * process finds an incomplete file.
 */
#include "ipc/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "os/sys.h"

#define SHM_FOLDER "/dev/shm"
#define NAME_BYTES_MAX 255
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
/* Enough bytes for "/proc/self/fd/" and a number. */
#define FD_PATH_BYTES 32
/*
 * How much is allocated at a time: less than fills the time between two
 * signals.
 */
#define PIECE_BYTES (256UL << 10)

void wf_file_close(int fd)
{
	wf_sys(SYS_close, fd);
}

static void fd_path(int fd, char path[FD_PATH_BYTES])
{
	char digits[12];
	int nr = 0;

	do {
		digits[nr++] = (char)('0' + fd % 10);
		fd /= 10;
	} while (fd > 0);
	memcpy(path, "/proc/self/fd/", 14);
	for (int i = 0; i < nr; i++)
		path[14 + i] = digits[nr - 1 - i];
	path[14 + nr] = '\0';
}

/*
 * Makes the path of a named file. As for shm_open, the name's leading slash may
 * be missing.
 */
static int shm_path(const char *name, char path[sizeof(SHM_FOLDER) + 256])
{
	size_t bytes;

	while (*name == '/')
		name++;
	bytes = strlen(name);
	if (bytes == 0 || strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return -EINVAL;
	if (bytes > NAME_BYTES_MAX)
		return -ENAMETOOLONG;
	memcpy(path, SHM_FOLDER "/", sizeof(SHM_FOLDER));
	memcpy(path + sizeof(SHM_FOLDER), name, bytes + 1);
	return 0;
}

static int map(int fd, uint64_t bytes, void **ret_memory)
{
	long at = wf_sys(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);

	if (at == -EPERM) /* the file is sealed against writing */
		return -EPROTO;
	if (at < 0 && at > -4096)
		return (int)at;
	*ret_memory = (void *)at;
	return 0;
}

void wf_file_unmap(void *memory, const struct wf_channel_shape *shape)
{
	wf_sys(SYS_munmap, memory, wf_channel_queue_bytes(shape));
}

/* Sets the size of the empty file, and writes the empty queue. */
static int fill(int fd, const struct wf_channel_shape *shape)
{
	uint64_t bytes = wf_channel_queue_bytes(shape);
	void *memory;
	long rc = wf_sys(SYS_ftruncate, fd, bytes);

	if (rc == 0)
		rc = map(fd, bytes, &memory);
	if (rc != 0)
		return (int)rc;
	wf_channel_queue_format(memory, shape);
	wf_file_unmap(memory, shape);
	return 0;
}

int wf_file_create(const struct wf_channel_shape *shape, mode_t mode,
		   int *ret_fd)
{
	long fd = wf_sys(SYS_memfd_create, "weft-channel",
			 MFD_CLOEXEC | MFD_ALLOW_SEALING);
	long rc;

	if (fd < 0)
		return (int)fd;
	rc = fill((int)fd, shape);
	if (rc == 0)
		rc = wf_sys(SYS_fchmod, fd, mode);
	if (rc == 0)
		rc = wf_sys(SYS_fcntl, fd, F_ADD_SEALS, SEALS);
	if (rc != 0) {
		wf_file_close((int)fd);
		return (int)rc;
	}
	*ret_fd = (int)fd;
	return 0;
}

/*
 * Allocates memory for the file, in small pieces. Before Linux 6.11 a signal
 * ends fallocate, which then frees all that this call has allocated.
 */
static long allocate(int fd, uint64_t bytes)
{
	uint64_t done = 0;

	while (done < bytes) {
		uint64_t left = bytes - done;
		uint64_t piece = left < PIECE_BYTES ? left : PIECE_BYTES;
		long rc = wf_sys(SYS_fallocate, fd, 0, done, piece);

		if (rc == 0)
			done += piece;
		else if (rc != -EINTR)
			return rc;
	}
	return 0;
}

int wf_file_create_named(const char *name, const struct wf_channel_shape *shape,
			 mode_t mode)
{
	char path[sizeof(SHM_FOLDER) + 256], unnamed[FD_PATH_BYTES];
	long rc = shm_path(name, path), fd;

	if (rc != 0)
		return (int)rc;
	fd = wf_sys(SYS_openat, AT_FDCWD, SHM_FOLDER,
		    O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (fd < 0)
		return (int)fd;
	/*
	 * /dev/shm has a limit. Allocating fails here if it is reached;
	 * otherwise a missing page would raise SIGBUS later.
	 */
	rc = allocate((int)fd, wf_channel_queue_bytes(shape));
	if (rc == 0)
		rc = fill((int)fd, shape);
	if (rc == 0) {
		fd_path((int)fd, unnamed);
		rc = wf_sys(SYS_linkat, AT_FDCWD, unnamed, AT_FDCWD, path,
			    AT_SYMLINK_FOLLOW);
	}
	wf_file_close((int)fd);
	return (int)rc;
}

int wf_file_open_named(const char *name, int *ret_fd)
{
	char path[sizeof(SHM_FOLDER) + 256];
	long rc = shm_path(name, path);

	if (rc == 0)
		rc = wf_sys(SYS_openat, AT_FDCWD, path,
			    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (rc < 0)
		return (int)rc;
	*ret_fd = (int)rc;
	return 0;
}

int wf_file_unlink(const char *name)
{
	char path[sizeof(SHM_FOLDER) + 256];
	int rc = shm_path(name, path);

	return rc != 0 ? rc : (int)wf_sys(SYS_unlinkat, AT_FDCWD, path, 0);
}

int wf_file_reopen(int fd, int *ret_fd)
{
	char path[FD_PATH_BYTES];
	long rc;

	if (fd < 0)
		return -EBADF;
	fd_path(fd, path);
	rc = wf_sys(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK,
		    0);
	if (rc < 0)
		return (int)rc;
	*ret_fd = (int)rc;
	return 0;
}

/*
 * Stores the file's size. Fails if the file is not in memory or, with
 * must_seal, if it can shrink.
 */
static int size_of(int fd, bool must_seal, uint64_t *ret_bytes)
{
	struct statfs fs;
	struct stat st;
	long seals = wf_sys(SYS_fcntl, fd, F_GET_SEALS, 0);

	if (seals == -EBADF)
		return -EBADF;
	if (must_seal && (seals < 0 || (seals & F_SEAL_SHRINK) == 0))
		return -EPROTO;
	/* hugetlbfs is refused: when memory is accessed a huge page may be
	 * missing. */
	if (wf_sys(SYS_fstatfs, fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC ||
	    wf_sys(SYS_fstat, fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -EPROTO;
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

int wf_file_map(int fd, bool must_seal, void **ret_memory,
		struct wf_channel_shape *ret_shape)
{
	struct wf_channel_header header;
	struct wf_channel_shape shape;
	uint64_t bytes;
	int rc = size_of(fd, must_seal, &bytes);

	if (rc != 0)
		return rc;
	/* Reads the header by a call, since the file may have been shrunk by
	 * now. */
	if (wf_sys(SYS_pread64, fd, &header, sizeof(header), 0) !=
	    sizeof(header))
		return -EPROTO;
	rc = wf_channel_shape_read(&header, bytes, &shape);
	if (rc == 0)
		rc = map(fd, wf_channel_queue_bytes(&shape), ret_memory);
	if (rc == 0)
		*ret_shape = shape;
	return rc;
}
