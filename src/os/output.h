/* Writing to a descriptor that is the program's and not ours. */
#ifndef WEFT_OS_OUTPUT_H
#define WEFT_OS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which file a descriptor is open on. */
struct wf_os_file {
	uint64_t device, inode;
};

/* Returns 0 or -EBADF. */
int wf_os_file_of(int fd, struct wf_os_file *ret_file);

/*
 * Writes all of it, or gives up. Without signals: a reader that is gone does
 * not end the process. Safe in a signal handler; blocks as write(2) does.
 */
void wf_os_write_quietly(int fd, const char *bytes, size_t nr);

#endif
