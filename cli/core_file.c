/* SPDX-License-Identifier: MIT */
#include "core_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static char chunk[WF_CORE_CHUNK];

static void put(struct wf_core_output *out, const char *bytes, size_t nr)
{
	while (nr > 0 && out->err == 0) {
		ssize_t n = out->can_seek ?
				    pwrite(out->fd, bytes, nr, (off_t)out->at) :
				    write(out->fd, bytes, nr);

		if (n < 0 && errno != EINTR)
			out->err = -errno;
		if (n <= 0)
			continue;
		out->at += (uint64_t)n;
		bytes += n;
		nr -= (size_t)n;
	}
}

void wf_core_skip(struct wf_core_output *out, uint64_t zeros)
{
	static const char nothing[WF_CORE_BLOCK];

	if (out->can_seek) {
		out->at += zeros;
		return;
	}
	while (zeros > 0 && out->err == 0) {
		size_t nr = zeros < sizeof(nothing) ? (size_t)zeros :
						      sizeof(nothing);

		put(out, nothing, nr);
		zeros -= nr;
	}
}

static bool is_zero(const char *bytes, size_t nr)
{
	return *bytes == 0 && memcmp(bytes, bytes + 1, nr - 1) == 0;
}

/* Blocks of zeros become holes; what lies between them is written at once. */
void wf_core_write(struct wf_core_output *out, const void *bytes, size_t nr)
{
	const char *from = bytes, *end = from + nr, *at = from;

	while (out->can_seek && at < end) {
		size_t block = WF_CORE_BLOCK -
			       (out->at + (size_t)(at - from)) % WF_CORE_BLOCK;

		if (block > (size_t)(end - at))
			block = (size_t)(end - at);
		if (is_zero(at, block)) {
			put(out, from, (size_t)(at - from));
			out->at += block;
			from = at + block;
		}
		at += block;
	}
	put(out, from, (size_t)(end - from));
}

int wf_core_finish(struct wf_core_output *out)
{
	if (out->err == 0 && out->can_seek &&
	    ftruncate(out->fd, (off_t)out->at) != 0)
		out->err = -errno;
	return out->err;
}

bool wf_core_is_zstd(const void *bytes, size_t nr)
{
	static const unsigned char magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };

	return nr >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

/* Reads as much as there is; less than `nr` at the end of the file only. */
static ssize_t read_whole(int fd, char *to, size_t nr)
{
	size_t done = 0;

	while (done < nr) {
		ssize_t n = read(fd, to + done, nr - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int wf_core_spool(int from, struct wf_core_output *out)
{
	struct wf_core_zstd *z = NULL;
	ssize_t n = read_whole(from, chunk, sizeof(chunk));
	int err = n < 0 ? (int)n : 0;
	bool is_zstd = n > 0 && wf_core_is_zstd(chunk, (size_t)n);

	if (is_zstd && wf_core_has_zstd()) {
		z = wf_core_zstd_new();
		if (z == NULL)
			return -ENOMEM;
	}
	while (err == 0 && n > 0) {
		if (z != NULL)
			err = wf_core_zstd_write(z, chunk, (size_t)n, out);
		else
			wf_core_write(out, chunk, (size_t)n);
		if (err == 0)
			err = out->err;
		if (err == 0)
			n = read_whole(from, chunk, sizeof(chunk));
		if (n < 0)
			err = (int)n;
	}
	if (z != NULL) {
		if (err == 0)
			err = wf_core_zstd_end(z);
		wf_core_zstd_free(z);
	}
	if (err == 0 && is_zstd && !wf_core_has_zstd())
		err = -EOPNOTSUPP;
	/* The bytes before the error stay. */
	wf_core_finish(out);
	return out->err != 0 ? out->err : err;
}

int wf_core_copy(int from, uint64_t start, uint64_t stop,
		 struct wf_core_output *out)
{
	off_t at = (off_t)start, end = (off_t)stop;

	while (at < end && out->err == 0) {
		off_t data = lseek(from, at, SEEK_DATA);
		size_t want = sizeof(chunk);
		ssize_t n;

		if (data < 0 && errno == ENXIO)
			data = end;
		if (data > end)
			data = end;
		if (data > at) {
			wf_core_skip(out, (uint64_t)(data - at));
			at = data;
			continue;
		}
		if ((off_t)want > end - at)
			want = (size_t)(end - at);
		n = pread(from, chunk, want, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return out->err = n < 0 ? -errno : -EIO;
		wf_core_write(out, chunk, (size_t)n);
		at += n;
	}
	return out->err;
}
