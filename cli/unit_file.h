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
 * Nothing is ever freed: the command is about to end.
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

/* The settings in the order in which systemd reads them. An empty value has
 * removed the earlier ones of its key, and itself. */
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
 * service: a name, with ".service" or without, that is looked for below `root`
 * where systemd looks, or a path. Returns 0, or an exit status and has
 * complained.
 */
int wf_unit_read(const char *root, const char *service, enum wf_unit_part part,
		 struct wf_unit *ret_unit);

/* The last value of a key; NULL if there is none. */
const char *wf_unit_get(const struct wf_unit *unit, const char *key);

#endif
