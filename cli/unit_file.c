/* SPDX-License-Identifier: MIT */
/*
 * Finds the unit in systemd's folders, and reads it and its drop-ins in
 * systemd's order. It keeps the settings of the section [Service]. The files
 * are read without systemd, so they may be those of another root.
 */
#include "unit_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "path.h"

#define SUFFIX ".service"

/* systemd's folders in the order of its search. */
static const char *const folders[] = {
	"/etc/systemd/system",		 "/run/systemd/system",
	"/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	"/lib/systemd/system",
};
enum { NR_FOLDERS = sizeof(folders) / sizeof(folders[0]) };

/*
 * The drop-ins. Of files with the same name the one in the first folder counts.
 */
struct drop_ins {
	char **paths;
	size_t nr;
};

static bool has_suffix(const char *name, const char *suffix)
{
	size_t len = strlen(name), suffix_len = strlen(suffix);

	return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

static void *or_die(void *memory)
{
	if (memory == NULL) {
		wf_complain(WF_EXIT_WEFT, "out of memory");
		_exit(WF_EXIT_WEFT);
	}
	return memory;
}

__attribute__((format(printf, 1, 2))) static char *make(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	return or_die(text);
}

/* --- one file --- */

static void forget(struct wf_unit *u, const char *key)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->nr; i++)
		if (strcmp(u->settings[i].key, key) != 0)
			u->settings[kept++] = u->settings[i];
	u->nr = kept;
}

static void set(struct wf_unit *u, const char *key, const char *value)
{
	if (*value == '\0') {
		forget(u, key);
		return;
	}
	if (u->nr == u->room) {
		u->room = u->room * 2 + 16;
		u->settings = or_die(
			realloc(u->settings, u->room * sizeof(*u->settings)));
	}
	u->settings[u->nr++] =
		(struct wf_unit_setting){ or_die(strdup(key)),
					  or_die(strdup(value)) };
}

/* Cuts white space off both ends. */
static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

static bool is_comment(const char *line)
{
	return *line == '#' || *line == ';';
}

/*
 * Reads a line and its continuations. A line that ends in a backslash continues
 * on the next; systemd replaces the backslash by a space. Comments between are
 * skipped. NULL at the end of the file.
 */
static char *read_line(FILE *f)
{
	char *line = NULL, *whole = or_die(calloc(1, 1));
	size_t room = 0, len = 0;
	bool goes_on = false, was_read = false;

	while (getline(&line, &room, f) > 0) {
		char *text = trim(line);
		size_t text_len = strlen(text);

		was_read = true;
		if (goes_on && is_comment(text))
			continue;
		goes_on = text_len > 0 && text[text_len - 1] == '\\' &&
			  !is_comment(text);
		if (goes_on)
			text[text_len - 1] = ' ';
		whole = or_die(realloc(whole, len + text_len + 1));
		memcpy(whole + len, text, text_len + 1);
		len += text_len;
		if (!goes_on)
			break;
	}
	free(line);
	if (was_read)
		return whole;
	free(whole);
	return NULL;
}

static int read_file(struct wf_unit *u, const char *path)
{
	bool in_service = false;
	FILE *f = fopen(path, "re");
	char *line;

	if (f == NULL)
		return wf_complain(WF_EXIT_WEFT, "%s: %s", path,
				   wf_error_text(errno));
	while ((line = read_line(f)) != NULL) {
		char *text = trim(line), *equals = strchr(text, '=');

		if (*text == '[')
			in_service = strcmp(text, "[Service]") == 0;
		else if (in_service && !is_comment(text) && equals != NULL) {
			*equals = '\0';
			set(u, trim(text), trim(equals + 1));
		}
		free(line);
	}
	fclose(f);
	return 0;
}

/* --- drop-ins --- */

static int by_name(const void *a, const void *b)
{
	return strcmp(wf_path_name(*(char *const *)a),
		      wf_path_name(*(char *const *)b));
}

static bool has_one(const struct drop_ins *d, const char *name)
{
	for (size_t i = 0; i < d->nr; i++)
		if (strcmp(wf_path_name(d->paths[i]), name) == 0)
			return true;
	return false;
}

static void add_folder(struct drop_ins *d, const char *folder,
		       enum wf_unit_part part)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (!has_suffix(entry->d_name, ".conf") ||
		    has_one(d, entry->d_name))
			continue;
		if (part == WF_UNIT_WITHOUT_OWN &&
		    strcmp(entry->d_name, WF_UNIT_DROP_IN) == 0)
			continue;
		d->paths = or_die(
			realloc(d->paths, (d->nr + 1) * sizeof(*d->paths)));
		d->paths[d->nr++] = make("%s/%s", folder, entry->d_name);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Adds the drop-ins for the unit, for its template, and for all services. */
static void add_all(struct drop_ins *d, const char *parent, const char *name,
		    enum wf_unit_part part)
{
	const char *at = strchr(name, '@');

	add_folder(d, make("%s/%s.d", parent, name), part);
	if (at != NULL)
		add_folder(d,
			   make("%s/%.*s@" SUFFIX ".d", parent,
				(int)(at - name), name),
			   part);
	add_folder(d, make("%s/service.d", parent), part);
}

static int read_drop_ins(struct wf_unit *u, struct drop_ins *d)
{
	int status = 0;

	if (d->nr > 0)
		qsort(d->paths, d->nr, sizeof(*d->paths), by_name);
	for (size_t i = 0; status == 0 && i < d->nr; i++)
		status = read_file(u, d->paths[i]);
	return status;
}

/* --- where it is --- */

static bool find_in(struct wf_unit *u, const char *root, const char *folder)
{
	const char *at = strchr(u->name, '@');

	u->path = make("%s%s/%s", root, folder, u->name);
	if (access(u->path, F_OK) == 0)
		return true;
	if (at == NULL)
		return false;
	u->path = make("%s%s/%.*s@" SUFFIX, root, folder, (int)(at - u->name),
		       u->name);
	return access(u->path, F_OK) == 0;
}

static int read_by_name(struct wf_unit *u, const char *root,
			enum wf_unit_part part)
{
	struct drop_ins found = { NULL, 0 };
	size_t i = 0;
	int status;

	while (i < NR_FOLDERS && !find_in(u, root, folders[i]))
		i++;
	if (i == NR_FOLDERS)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: no such unit in the folders of "
				   "systemd; give the path of its file",
				   u->name);
	for (i = 0; i < NR_FOLDERS; i++)
		add_all(&found, make("%s%s", root, folders[i]), u->name, part);
	status = read_file(u, u->path);
	return status != 0 ? status : read_drop_ins(u, &found);
}

static int read_by_path(struct wf_unit *u, const char *path,
			enum wf_unit_part part)
{
	struct drop_ins found = { NULL, 0 };
	int status;

	u->path = path;
	add_folder(&found, make("%s.d", path), part);
	status = read_file(u, path);
	return status != 0 ? status : read_drop_ins(u, &found);
}

int wf_unit_read(const char *root, const char *service, enum wf_unit_part part,
		 struct wf_unit *ret_unit)
{
	const char *name = wf_path_name(service);

	if (strlen(name) + sizeof(SUFFIX) > sizeof(ret_unit->name))
		return wf_complain(WF_EXIT_WEFT, "%s: too long a name",
				   service);
	*ret_unit = (struct wf_unit){ .nr = 0 };
	snprintf(ret_unit->name, sizeof(ret_unit->name), "%s%s", name,
		 has_suffix(name, SUFFIX) ? "" : SUFFIX);
	if (name != service)
		return read_by_path(ret_unit, service, part);
	return read_by_name(ret_unit, root, part);
}

const char *wf_unit_get(const struct wf_unit *unit, const char *key)
{
	const char *value = NULL;

	for (size_t i = 0; i < unit->nr; i++)
		if (strcmp(unit->settings[i].key, key) == 0)
			value = unit->settings[i].value;
	return value;
}
