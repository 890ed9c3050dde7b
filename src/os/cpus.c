/* SPDX-License-Identifier: MIT */
/*
 * Counts the CPUs of the affinity mask, and those that a quota of a control
 * group amounts to. /proc/self/cgroup names the process's group in each
 * hierarchy. /proc/self/mountinfo tells where hierarchies are mounted, and
 * which group is the top of each mount. Each group from the process's group up
 * to that top may have a quota, and the least counts:
 *
 *     version 2   cpu.max: "QUOTA PERIOD" or "max PERIOD"
 *     version 1   cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us
 *
 * A process in a container may read a group's name that lies outside its mount.
 * Then only the mount's top is read.
 */
#include "os/cpus.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "os/mem.h"
#include "os/sys.h"

enum { MAX_CPUS = 8192, LINE_BYTES = PATH_MAX + 512 };

uint32_t wf_os_cpus_allowed(int tid)
{
	unsigned long set[MAX_CPUS / (8 * sizeof(long))] = { 0 };
	long bytes = wf_sys(SYS_sched_getaffinity, tid, sizeof(set), set);
	uint32_t nr = 0;

	for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof(long); i++)
		nr += (uint32_t)__builtin_popcountl(set[i]);
	return nr > 0 ? nr : 1;
}

/* --- paths and files ---------------------------------------------------- */

struct path {
	char text[PATH_MAX];
	size_t len;
	bool is_whole; /* false: a part did not fit */
};

static void append(struct path *p, const char *s, size_t len)
{
	if (len >= sizeof(p->text) - p->len) {
		p->is_whole = false;
		return;
	}
	memcpy(p->text + p->len, s, len);
	p->len += len;
	p->text[p->len] = '\0';
}

static void set_path(struct path *p, const char *root)
{
	p->len = 0;
	p->text[0] = '\0';
	p->is_whole = true;
	append(p, root, strlen(root));
}

static long open_file(const struct path *p)
{
	if (!p->is_whole)
		return -1;
	return wf_sys(SYS_openat, AT_FDCWD, p->text, O_RDONLY | O_CLOEXEC);
}

static void truncate_path(struct path *p, size_t len)
{
	p->len = len;
	p->text[len] = '\0';
	p->is_whole = true;
}

/*
 * Reads a file of a group, which is one short line; false if it cannot be read.
 */
static bool read_value(struct path *group, const char *name, char *ret_text,
		       size_t size)
{
	size_t len = group->len;
	long fd, n;

	append(group, "/", 1);
	append(group, name, strlen(name));
	fd = open_file(group);
	truncate_path(group, len);
	if (fd < 0)
		return false;
	n = wf_sys(SYS_read, fd, ret_text, size - 1);
	wf_sys(SYS_close, fd);
	if (n <= 0)
		return false;
	ret_text[n] = '\0';
	return true;
}

/* The first byte c of the string, or NULL. */
static char *find(const char *s, char c)
{
	for (; *s != '\0'; s++) {
		if (*s == c)
			return (char *)s;
	}
	return NULL;
}

/*
 * The lines of a file of any length. Lines longer than the buffer are skipped.
 */
struct lines {
	long fd;
	size_t start, end; /* bytes read and not yet returned */
	char text[LINE_BYTES];
};

static bool open_lines(struct lines *l, struct path *path, const char *root,
		       const char *name)
{
	set_path(path, root);
	append(path, name, strlen(name));
	l->start = l->end = 0;
	l->fd = open_file(path);
	return l->fd >= 0;
}

/* Reads more of the file into the buffer; false at its end. */
static bool fill(struct lines *l)
{
	long n;

	memmove(l->text, l->text + l->start, l->end - l->start);
	l->end -= l->start;
	l->start = 0;
	n = wf_sys(SYS_read, l->fd, l->text + l->end, sizeof(l->text) - l->end);
	if (n <= 0)
		return false;
	l->end += (size_t)n;
	return true;
}

/*
 * The next line without its newline. NULL at the end of the file, which this
 * closes.
 */
static char *next_line(struct lines *l)
{
	bool is_too_long = false;

	for (;;) {
		char *line = l->text + l->start;
		size_t at = l->start;

		while (at < l->end && l->text[at] != '\n')
			at++;
		if (at < l->end) {
			l->text[at] = '\0';
			l->start = at + 1;
			if (!is_too_long)
				return line;
			is_too_long = false;
			continue;
		}
		if (l->end - l->start == sizeof(l->text)) {
			is_too_long = true;
			l->start = l->end;
		}
		if (!fill(l)) {
			wf_sys(SYS_close, l->fd);
			return NULL;
		}
	}
}

/* Cuts the word before the separator off *rest; NULL if none is left. */
static char *cut(char **rest, char separator)
{
	char *word = *rest;
	char *end;

	if (word == NULL)
		return NULL;
	end = find(word, separator);
	*rest = end != NULL ? end + 1 : NULL;
	if (end != NULL)
		*end = '\0';
	return word;
}

/* True if the word is in a list with commas. */
static bool has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		const char *comma = find(list, ',');
		size_t n = comma != NULL ? (size_t)(comma - list) :
					   strlen(list);

		if (n == len && memcmp(list, word, len) == 0)
			return true;
		if (comma == NULL)
			return false;
		list = comma + 1;
	}
}

/*
 * Decodes blanks and backslashes, which mountinfo writes as three octal digits.
 */
static void unescape(char *s)
{
	char *to = s;

	while (*s != '\0') {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' &&
		    s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* --- quotas ------------------------------------------------------------- */

/* Reads digits up to a blank, a newline or the end; 0 if there is no number. */
static uint64_t parse_number(const char *s, const char **ret_rest)
{
	uint64_t n = 0;

	*ret_rest = s;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return 0;
	}
	if (*s != ' ' && *s != '\n' && *s != '\0')
		return 0;
	*ret_rest = *s == ' ' ? s + 1 : s;
	return n;
}

/* Returns CPUs, rounded up; 0 if there is no quota. */
static uint32_t to_cpus(uint64_t quota, uint64_t period)
{
	uint64_t cpus;

	if (quota == 0 || period == 0)
		return 0;
	cpus = quota / period + (quota % period != 0);
	return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

static uint32_t quota_of_group(struct path *group, bool is_v2)
{
	char text[64];
	const char *rest;
	uint64_t quota;

	if (is_v2) {
		if (!read_value(group, "cpu.max", text, sizeof(text)))
			return 0;
		quota = parse_number(text, &rest); /* 0 if "max" */
		return to_cpus(quota, parse_number(rest, &rest));
	}
	if (!read_value(group, "cpu.cfs_quota_us", text, sizeof(text)))
		return 0;
	quota = parse_number(text, &rest); /* 0 if "-1" */
	if (!read_value(group, "cpu.cfs_period_us", text, sizeof(text)))
		return 0;
	return to_cpus(quota, parse_number(text, &rest));
}

static uint32_t least(uint32_t a, uint32_t b)
{
	if (a == 0 || b == 0)
		return a + b;
	return a < b ? a : b;
}

/*
 * The least quota of a group and its ancestors, down to the first `top` bytes
 * of its path.
 */
static uint32_t quota_up_to(struct path *group, size_t top, bool is_v2)
{
	uint32_t quota = quota_of_group(group, is_v2);

	while (group->len > top) {
		while (group->len > top && group->text[group->len - 1] != '/')
			group->len--;
		if (group->len > top)
			group->len--; /* the slash */
		truncate_path(group, group->len);
		quota = least(quota, quota_of_group(group, is_v2));
	}
	return quota;
}

/*
 * The part of the group's name below the mount's top: "" if the group is the
 * top or lies outside it.
 */
static const char *below(const char *name, const char *mount_root)
{
	size_t len = strlen(mount_root);

	if (strcmp(mount_root, "/") == 0)
		len = 0;
	if (strncmp(name, mount_root, len) != 0)
		return "";
	name += len;
	/* "/.." is above the top, which a mount does not show. */
	if (*name != '/' || strcmp(name, "/") == 0 ||
	    strcmp(name, "/..") == 0 || strncmp(name, "/../", 4) == 0)
		return "";
	return name;
}

/*
 * The buffers of one call: too large for the stack of a thread that creates
 * another one.
 */
struct work {
	const char *root;
	struct path path;
	struct lines lines;
	char v1[PATH_MAX], v2[PATH_MAX]; /* groups; "": none */
};

static void copy_name(char *ret_name, const char *name)
{
	size_t len = strlen(name);

	if (len < PATH_MAX)
		memcpy(ret_name, name, len + 1);
}

/* Reads lines "ID:CONTROLLERS:NAME". Version 2 has ID 0 and no controllers. */
static void read_groups(struct work *w)
{
	char *line;

	if (!open_lines(&w->lines, &w->path, w->root, "/proc/self/cgroup"))
		return;
	while ((line = next_line(&w->lines)) != NULL) {
		const char *id = cut(&line, ':');
		const char *controllers = cut(&line, ':');

		if (line == NULL)
			continue;
		if (has_word(controllers, "cpu"))
			copy_name(w->v1, line);
		else if (strcmp(id, "0") == 0 && *controllers == '\0')
			copy_name(w->v2, line);
	}
}

/*
 * The quota of one mount: "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAGS...] -
 * TYPE SOURCE SUPER_OPTIONS". Returns 0 if the mount is no cgroup mount:
 * neither of version 2 nor of version 1 with the controller `cpu`.
 */
static uint32_t quota_of_mount(struct work *w, char *line)
{
	char *mount_root = NULL, *point = NULL;
	const char *type, *name;
	char *word;
	bool is_v2;

	for (int i = 0; i < 5; i++) {
		mount_root = point;
		point = cut(&line, ' ');
	}
	do
		word = cut(&line, ' ');
	while (word != NULL && strcmp(word, "-") != 0);
	type = cut(&line, ' ');
	cut(&line, ' ');
	if (type == NULL || line == NULL)
		return 0;
	is_v2 = strcmp(type, "cgroup2") == 0;
	if (!is_v2 && (strcmp(type, "cgroup") != 0 || !has_word(line, "cpu")))
		return 0;
	name = is_v2 ? w->v2 : w->v1;
	if (*name == '\0')
		return 0;
	unescape(mount_root);
	unescape(point);
	name = below(name, mount_root);
	set_path(&w->path, w->root);
	append(&w->path, point, strlen(point));
	append(&w->path, name, strlen(name));
	if (!w->path.is_whole)
		return 0;
	return quota_up_to(&w->path, w->path.len - strlen(name), is_v2);
}

uint32_t wf_os_cpus_quota(const char *root)
{
	size_t bytes = wf_align_up(sizeof(struct work), WF_PAGE);
	struct work *w = wf_os_reserve(bytes);
	uint32_t quota = 0;
	char *line;

	if (w == NULL)
		return 0;
	w->root = root;
	read_groups(w);
	if (open_lines(&w->lines, &w->path, root, "/proc/self/mountinfo")) {
		while ((line = next_line(&w->lines)) != NULL)
			quota = least(quota, quota_of_mount(w, line));
	}
	wf_os_release(w, bytes);
	return quota;
}
