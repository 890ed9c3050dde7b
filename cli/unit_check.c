/* SPDX-License-Identifier: MIT */
/*
 * Finds out which settings of a unit keep weft from working. A table maps keys
 * of a unit to functions that judge their values. Each function prints a row
 * and may add lines to the drop-in that solve the problem. Keys that look
 * harmful and are not have a table of their own.
 */
#include "unit_check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "text.h"
#include "unit_filter.h"

enum { LINE = 2 * WF_UNIT_MISSING + 2 * PATH_MAX, MAX_ADDED = 16 };

/* The unit that is checked, and the findings until now. */
struct check {
	const struct wf_unit *unit;
	const char *command, *library;
	char *added[MAX_ADDED]; /* lines for the drop-in */
	size_t nr_added;
	bool is_ok;
};

struct judge {
	const char *key;
	bool is_list; /* all its values count, not only the last */
	void (*judge)(struct check *c, const char *key, const char *value);
};

static void in_the_way(struct check *c, const char *key, const char *problem)
{
	printf("%-15s%s=: %s\n", "in the way", key, problem);
	c->is_ok = false;
}

/* Adds a line to the drop-in, once. */
static void add(struct check *c, const char *line)
{
	for (size_t i = 0; i < c->nr_added; i++)
		if (strcmp(c->added[i], line) == 0)
			return;
	if (c->nr_added < MAX_ADDED)
		c->added[c->nr_added++] = strdup(line);
}

static void add_files(struct check *c, const char *key)
{
	static char line[LINE];

	snprintf(line, sizeof(line), "%s=%s %s", key, c->command, c->library);
	add(c, line);
}

/* Reads a boolean as systemd does. */
static bool is_yes(const char *value)
{
	static const char *const words[] = {
		"1", "yes", "y", "true", "t", "on"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

/* --- folders that the service does not see --- */

/* True if the file is the folder of `len` bytes, or lies below it. */
static bool is_below(const char *file, const char *folder, size_t len)
{
	while (len > 0 && folder[len - 1] == '/')
		len--;
	return strncmp(file, folder, len) == 0 &&
	       (file[len] == '/' || file[len] == '\0');
}

static bool hides(const struct check *c, const char *folder, size_t len)
{
	return is_below(c->command, folder, len) ||
	       is_below(c->library, folder, len);
}

/* Reads a list of paths. A "-" or "+" may precede a path, and a colon starts
 * its options; both are skipped. */
static bool list_hides(const struct check *c, const char *list)
{
	while (*list != '\0') {
		size_t len;

		list += strspn(list, " \t-+");
		len = strcspn(list, " \t:");
		if (len > 0 && hides(c, list, len))
			return true;
		list += len;
		list += strcspn(list, " \t");
	}
	return false;
}

static void judge_hidden(struct check *c, const char *key, const char *value)
{
	if (!list_hides(c, value))
		return;
	in_the_way(c, key, "hides weft's files");
	add_files(c, "BindReadOnlyPaths");
}

static bool list_has(const char *list, const char *file)
{
	while (*list != '\0') {
		size_t len;

		list += strspn(list, " \t-+");
		len = strcspn(list, " \t");
		/* The longest path counts; "/" is in NoExecPaths= itself. */
		if (len > 1 && is_below(file, list, len))
			return true;
		list += len;
	}
	return false;
}

/* True if the file is below one of the ExecPaths= already. */
static bool is_executable(const struct check *c, const char *file)
{
	for (size_t i = 0; i < c->unit->nr; i++)
		if (strcmp(c->unit->settings[i].key, "ExecPaths") == 0 &&
		    list_has(c->unit->settings[i].value, file))
			return true;
	return false;
}

static void judge_no_exec(struct check *c, const char *key, const char *value)
{
	if (!list_hides(c, value) ||
	    (is_executable(c, c->command) && is_executable(c, c->library)))
		return;
	in_the_way(c, key, "weft's files cannot be executed");
	add_files(c, "ExecPaths");
}

static void judge_root(struct check *c, const char *key, const char *value)
{
	(void)value;
	in_the_way(c, key,
		   "weft's files are not in the service's root folder, "
		   "and /proc may not be");
	add_files(c, "BindReadOnlyPaths");
	add(c, "MountAPIVFS=yes");
}

static void judge_home(struct check *c, const char *key, const char *value)
{
	if (strcmp(value, "read-only") != 0 &&
	    (is_yes(value) || strcmp(value, "tmpfs") == 0) &&
	    (hides(c, "/home", 5) || hides(c, "/root", 5) ||
	     hides(c, "/run/user", 9)))
		in_the_way(c, key,
			   "hides weft's files; install weft below "
			   "/usr or /opt");
}

static void judge_tmp(struct check *c, const char *key, const char *value)
{
	if ((is_yes(value) || strcmp(value, "disconnected") == 0) &&
	    (hides(c, "/tmp", 4) || hides(c, "/var/tmp", 8)))
		in_the_way(c, key,
			   "hides weft's files; install weft below "
			   "/usr or /opt");
}

/* --- system calls --- */

static void judge_filter(struct check *c, const char *key, const char *value)
{
	static char missing[WF_UNIT_MISSING], text[LINE];
	enum wf_unit_verdict verdict = wf_unit_filter(c->unit, missing);

	(void)value;
	if (verdict == WF_UNIT_ALLOWS)
		return;
	snprintf(text, sizeof(text), "%s when weft calls %s",
		 verdict == WF_UNIT_KILLS ? "kills the service" :
					    "refuses what weft needs",
		 missing);
	in_the_way(c, key, text);
	snprintf(text, sizeof(text), "SystemCallFilter=%s", missing);
	add(c, text);
}

/* --- limits --- */

/* True if the value is below `least`. A number with a suffix as K or M is above
 * any row's number. "infinity" and percentages count as no limit. */
static bool is_less(const char *value, unsigned long least)
{
	char *end;
	unsigned long number = strtoul(value, &end, 10);

	return end != value && (*end == '\0' || *end == ':') && number < least;
}

/* A row's number is twice the most that weft uses: the rest is for the
 * program. */
static const struct limit {
	const char *key;
	unsigned long least;
	const char *problem;
	const char *more;
} limits[] = {
	{ "LimitNOFILE", 256,
	  "weft takes two descriptors for each virtual processor",
	  "LimitNOFILE=1024" },
	{ "LimitNPROC", 256, "weft makes kernel threads for calls that block",
	  "LimitNPROC=infinity" },
	{ "TasksMax", 256, "weft makes kernel threads for calls that block",
	  "TasksMax=infinity" },
	{ "LimitSIGPENDING", 64,
	  "each kernel thread has a timer for preemption, which counts",
	  "LimitSIGPENDING=1024" },
};

static void judge_limit(struct check *c, const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (strcmp(limits[i].key, key) != 0 ||
		    !is_less(value, limits[i].least))
			continue;
		in_the_way(c, key, limits[i].problem);
		add(c, limits[i].more);
	}
}

static void judge_space(struct check *c, const char *key, const char *value)
{
	if (strncmp(value, "infinity", strlen("infinity")) == 0)
		return;
	in_the_way(c, key,
		   "the stack of each thread counts with its whole "
		   "size, 8 MiB by default");
	add(c, "Environment=WEFT_STACK_SIZE=256K");
}

/* --- privileges --- */

static void judge_profile(struct check *c, const char *key, const char *value)
{
	static char text[LINE];

	(void)value;
	snprintf(text, sizeof(text),
		 "the profile has to let the service read, map and execute %s, "
		 "and must not clear its environment; no setting of the unit "
		 "does that",
		 c->library);
	in_the_way(c, key, text);
}

static const struct judge judges[] = {
	{ "SystemCallFilter", false, judge_filter },
	{ "NoExecPaths", true, judge_no_exec },
	{ "InaccessiblePaths", true, judge_hidden },
	{ "TemporaryFileSystem", true, judge_hidden },
	{ "RootDirectory", false, judge_root },
	{ "RootImage", false, judge_root },
	{ "ProtectHome", false, judge_home },
	{ "PrivateTmp", false, judge_tmp },
	{ "LimitNOFILE", false, judge_limit },
	{ "LimitNPROC", false, judge_limit },
	{ "LimitSIGPENDING", false, judge_limit },
	{ "TasksMax", false, judge_limit },
	{ "LimitAS", false, judge_space },
	{ "AppArmorProfile", false, judge_profile },
	{ "SELinuxContext", false, judge_profile },
	{ "SmackProcessLabel", false, judge_profile },
};

/* Settings that look harmful and are not. */
static const struct harmless {
	const char *key, *reason;
} harmless[] = {
	{ "LockPersonality", "weft changes it for the program only" },
	{ "MemoryDenyWriteExecute", "weft makes no code" },
	{ "NoNewPrivileges", "weft needs none" },
	{ "PrivateDevices", "weft opens no device" },
	{ "PrivateUsers", "weft needs no user of its own" },
	{ "ProcSubset", "weft reads /proc/self, which stays" },
	{ "ProtectProc", "weft reads /proc/self, which stays" },
	{ "ProtectSystem", "weft writes no file" },
	{ "RestrictAddressFamilies", "weft makes no socket" },
	{ "RestrictNamespaces", "weft makes none" },
	{ "RestrictRealtime", "weft asks for what the program asks for" },
	{ "SystemCallArchitectures", "weft makes the program's calls" },
};

static void report_harmless(const struct wf_unit *unit)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
		if (wf_unit_get(unit, harmless[i].key) != NULL)
			printf("%-15s%s=: %s\n", "no effect", harmless[i].key,
			       harmless[i].reason);
	}
}

static void judge_key(struct check *c, const struct judge *j)
{
	const char *last = wf_unit_get(c->unit, j->key);

	for (size_t i = 0; j->is_list && i < c->unit->nr; i++)
		if (strcmp(c->unit->settings[i].key, j->key) == 0)
			j->judge(c, j->key, c->unit->settings[i].value);
	if (!j->is_list && last != NULL)
		j->judge(c, j->key, last);
}

bool wf_unit_check(const struct wf_unit *unit, const char *command,
		   const char *library)
{
	static struct check c;

	c = (struct check){ .unit = unit,
			    .command = command,
			    .library = library,
			    .is_ok = true };
	for (size_t i = 0; i < sizeof(judges) / sizeof(judges[0]); i++)
		judge_key(&c, &judges[i]);
	report_harmless(unit);
	for (size_t i = 0; i < c.nr_added; i++)
		printf("%-15s%s\n", "add", c.added[i]);
	return c.is_ok;
}
