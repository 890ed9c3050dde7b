/* SPDX-License-Identifier: MIT */
/* Cores that systemd-coredump has compressed. */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "core_file.h"

struct wf_core_zstd {
	ZSTD_DStream *stream;
	size_t hint; /* 0: a frame has ended */
	char to[WF_CORE_CHUNK];
};

bool wf_core_has_zstd(void)
{
	return true;
}

struct wf_core_zstd *wf_core_zstd_new(void)
{
	struct wf_core_zstd *z = malloc(sizeof(*z));

	if (z == NULL)
		return NULL;
	z->hint = 1;
	z->stream = ZSTD_createDStream();
	if (z->stream == NULL) {
		free(z);
		return NULL;
	}
	return z;
}

void wf_core_zstd_free(struct wf_core_zstd *z)
{
	ZSTD_freeDStream(z->stream);
	free(z);
}

int wf_core_zstd_write(struct wf_core_zstd *z, const void *bytes, size_t nr,
		       struct wf_core_output *out)
{
	ZSTD_inBuffer in = { bytes, nr, 0 };
	bool is_full = false;

	/* A full buffer: the decoder may keep more. */
	while (in.pos < in.size || is_full) {
		ZSTD_outBuffer to = { z->to, sizeof(z->to), 0 };

		z->hint = ZSTD_decompressStream(z->stream, &to, &in);
		if (ZSTD_isError(z->hint))
			return -EILSEQ;
		wf_core_write(out, z->to, to.pos);
		if (out->err != 0)
			return out->err;
		is_full = to.pos == to.size && z->hint != 0;
	}
	return 0;
}

int wf_core_zstd_end(struct wf_core_zstd *z)
{
	return z->hint == 0 ? 0 : -ENODATA;
}
