/* SPDX-License-Identifier: MIT */
/* A build without libzstd. */
#include <errno.h>

#include "core_file.h"

bool wf_core_has_zstd(void)
{
	return false;
}

struct wf_core_zstd *wf_core_zstd_new(void)
{
	return NULL;
}

void wf_core_zstd_free(struct wf_core_zstd *z)
{
	(void)z;
}

int wf_core_zstd_write(struct wf_core_zstd *z, const void *bytes, size_t nr,
		       struct wf_core_output *out)
{
	(void)z;
	(void)bytes;
	(void)nr;
	(void)out;
	return -EOPNOTSUPP;
}

int wf_core_zstd_end(struct wf_core_zstd *z)
{
	(void)z;
	return -EOPNOTSUPP;
}
