/* SPDX-License-Identifier: MIT */
/*
 * Reads the [Service] section of a systemd unit, with its drop-ins.
 *
 *     struct wf_unit unit;
 *
 *     status = wf_unit_read("", "memcached", WF_UNIT_ALL, &unit);
 *     if (status == 0)
 *             puts(wf_unit_get(&unit, "User"));
 *
 * Memory is never freed: the command ends soon.
 */
#ifndef WEFT_CLI_UNIT_FILE_H
#define WEFT_CLI_UNIT_FILE_H

#include <limits.h>
#include <stddef.h>

/* The drop-in that the command writes. */
#define WF_UNIT_DROP_IN "weft.conf"

struct wf_unit_setting {
	const char *key, *value;
};

/* The settings in the order in which systemd reads them. An empty value removes
 * the earlier values of its key and is not stored. */
struct wf_unit {
	struct wf_unit_setting *settings;
	size_t nr, room;
	char name[NAME_MAX + 1]; /* "memcached.service" */
	const char *path;
};

enum wf_unit_part {
	WF_UNIT_ALL,
	WF_UNIT_WITHOUT_OWN /* not the drop-ins named weft.conf */
};

/*
 * `service` is a path, or a name with or without ".service". A name is searched
 * below `root` in systemd's folders. Returns 0, or an exit status after a
 * complaint.
 */
int wf_unit_read(const char *root, const char *service, enum wf_unit_part part,
		 struct wf_unit *ret_unit);

/* The last value of a key; NULL if there is none. */
const char *wf_unit_get(const struct wf_unit *unit, const char *key);

#endif
