/* SPDX-License-Identifier: MIT */
/*
 * The files that queues lie in: sealed memfds, and names in /dev/shm. All
 * return 0 or -Exxx.
 */
#ifndef WEFT_IPC_FILE_H
#define WEFT_IPC_FILE_H

#include <sys/types.h>

#include "ipc/channel_queue.h"

int wf_file_create(const struct wf_channel_shape *shape, mode_t mode,
		   int *ret_fd);
int wf_file_create_named(const char *name, const struct wf_channel_shape *shape,
			 mode_t mode);
int wf_file_open_named(const char *name, int *ret_fd);
int wf_file_unlink(const char *name);

/* The same file by a description that nobody else has. */
int wf_file_reopen(int fd, int *ret_fd);

/*
 * Maps a file whose size and shape are good and cannot change: if must_seal, a
 * sealed memfd, which no peer can shrink under us.
 */
int wf_file_map(int fd, bool must_seal, void **ret_memory,
		struct wf_channel_shape *ret_shape);
void wf_file_unmap(void *memory, const struct wf_channel_shape *shape);

void wf_file_close(int fd);

#endif
