/* SPDX-License-Identifier: MIT */
/*
 * Finds the version in the file of libc itself: libc.so.6 has the sentence that
 * it prints when it is executed. The command is linked statically, so its own
 * gnu_get_libc_version() would give the version of the machine that built it.
 */
#include "glibc.h"

#include <string.h>

#include "file.h"

static bool read_glibc_version(const char *path, char *ret_version, size_t size)
{
	static const char marker[] = "release version ";
	size_t file_size, len = 0;
	char *bytes, *found;

	if (wf_file_map(path, &bytes, &file_size) < 0)
		return false;
	found = memmem(bytes, file_size, marker, strlen(marker));
	if (found != NULL) {
		found += strlen(marker);
		while (len + 1 < size && found + len < bytes + file_size &&
		       strchr("0123456789.", found[len]) != NULL)
			len++;
		if (len > 0 && found[len - 1] == '.')
			len--; /* the full stop of the sentence */
		memcpy(ret_version, found, len);
		ret_version[len] = '\0';
	}
	wf_file_unmap(bytes, file_size);
	return found != NULL;
}

bool wf_glibc_version(char *ret_version, size_t size)
{
	static const char *const paths[] = {
		"/lib/" WEFT_MULTIARCH "/libc.so.6",
		"/lib64/libc.so.6",
		"/lib/libc.so.6",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (read_glibc_version(paths[i], ret_version, size))
			return true;
	return false;
}
