/* SPDX-License-Identifier: MIT */
/*
 * Maps files to read them. Also for code without libc (bare.c).
 *
 *     if (wf_file_map(path, &bytes, &size) == 0)
 *             wf_elf_read(bytes, size, &elf);
 */
#ifndef WEFT_CLI_FILE_H
#define WEFT_CLI_FILE_H

#include <stddef.h>

/* Maps a file to read it. Returns 0 or -Exxx; -EINVAL if it is empty. */
int wf_file_map(const char *path, char **ret_bytes, size_t *ret_size);
/* Tries whether the kernel maps the file for execution. Returns 0 or -Exxx;
 * -EPERM if its file system is mounted noexec. */
int wf_file_try_execute(const char *path);
void wf_file_unmap(char *bytes, size_t size);

#endif
