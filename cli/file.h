/* SPDX-License-Identifier: MIT */
/* Files to look into. May be called without libc (bare.c). */
#ifndef WEFT_CLI_FILE_H
#define WEFT_CLI_FILE_H

#include <stddef.h>

/* Maps a file to read. 0 or -Exxx; -EINVAL: it is empty. */
int wf_file_map(const char *path, char **ret_bytes, size_t *ret_size);
/* Would the kernel map the file to execute it? 0 or -Exxx; -EPERM: its file
 * system is mounted noexec. */
int wf_file_try_execute(const char *path);
void wf_file_unmap(char *bytes, size_t size);

#endif
