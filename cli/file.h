/* Files to look into. May be called without libc (bare.c). */
#ifndef WEFT_CLI_FILE_H
#define WEFT_CLI_FILE_H

#include <stddef.h>

/* Maps a file to read; NULL if that cannot be done, or if it is empty. */
char *wf_file_map(const char *path, size_t *ret_size);
void wf_file_unmap(char *bytes, size_t size);

#endif
