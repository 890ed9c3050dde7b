/* SPDX-License-Identifier: MIT */
/*
 * The files that have the queues: sealed memfds, and named files in /dev/shm.
 *
 *     rc = wf_file_create(&shape, 0600, &fd);
 *     if (rc == 0)
 *             rc = wf_file_map(fd, true, &memory, &shape);
 *
 * All functions return 0 or -Exxx.
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

/*
 * Opens the file again. The new open file description is shared with no other
 * process.
 */
int wf_file_reopen(int fd, int *ret_fd);

/*
 * Maps a file with a valid size and shape. If must_seal, maps only a sealed
 * memfd, which no peer can shrink.
 */
int wf_file_map(int fd, bool must_seal, void **ret_memory,
		struct wf_channel_shape *ret_shape);
void wf_file_unmap(void *memory, const struct wf_channel_shape *shape);

void wf_file_close(int fd);

#endif
