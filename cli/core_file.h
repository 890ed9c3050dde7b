/* SPDX-License-Identifier: MIT */
/*
 * Reads a core file that may be compressed, and writes one with holes.
 *
 *     struct wf_core_output out = { .fd = fd, .can_seek = true };
 *
 *     wf_core_write(&out, bytes, nr);
 *     wf_core_skip(&out, zeros);
 *     err = wf_core_finish(&out);
 *
 * Functions return 0 or -Exxx. None holds more than a few buffers in memory.
 */
#ifndef WEFT_CLI_CORE_FILE_H
#define WEFT_CLI_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WF_CORE_BLOCK = 4096, WF_CORE_CHUNK = 256 * WF_CORE_BLOCK };

struct wf_core_output {
	int fd;
	bool can_seek; /* zeros become holes */
	bool is_new;   /* wf_core_create has made the file */
	uint64_t at;
	int err; /* the first; then all else is left out */
};

void wf_core_write(struct wf_core_output *out, const void *bytes, size_t nr);
void wf_core_skip(struct wf_core_output *out, uint64_t zeros);
/* Sets the file's size. Returns the first error. */
int wf_core_finish(struct wf_core_output *out);

/* True if the bytes are the beginning of a file of zstd's. */
bool wf_core_is_zstd(const void *bytes, size_t nr);

/* A decompressor; core_zstd.c. NULL: no memory, or not in this build. */
struct wf_core_zstd;
struct wf_core_zstd *wf_core_zstd_new(void);
void wf_core_zstd_free(struct wf_core_zstd *z);
/* -EILSEQ: it is damaged; -ENODATA at the end: it is cut off. */
int wf_core_zstd_write(struct wf_core_zstd *z, const void *bytes, size_t nr,
		       struct wf_core_output *out);
int wf_core_zstd_end(struct wf_core_zstd *z);
bool wf_core_has_zstd(void);

/*
 * Copies all of `from`, uncompressed. -EOPNOTSUPP: it is compressed, and this
 * build has no zstd. Then the copy is compressed, too.
 */
int wf_core_spool(int from, struct wf_core_output *out);

/* Copies the bytes from start to end of a regular file, with its holes. */
int wf_core_copy(int from, uint64_t start, uint64_t end,
		 struct wf_core_output *out);

#endif
