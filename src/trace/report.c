/* SPDX-License-Identifier: MIT */
/*
 * Prints the counters for --stats, as text or as JSON. The report is made in
 * one buffer and written by one write. So the reports of several processes do
 * not mix, neither on standard error nor in a file to which all of them append.
 */
#include "trace/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/options.h"
#include "os/output.h"
#include "os/sys.h"
#include "trace/counters.h"

enum { STDERR = 2, REPORT_BYTES = 4096, FILE_MODE = 0666 };

static const struct row {
	size_t offset;
	const char *key;
	const char *text;
	bool is_maximum;
} rows[] = {
#define X(name, key, text) \
	{ offsetof(struct wf_counters, name), #key, text, false },
	WF_COUNTERS(X)
#undef X
#define X(name, key, text) \
	{ offsetof(struct wf_counters, name), #key, text, true },
		WF_MAXIMA(X)
#undef X
};

/*
 * Static, not on the stack: the thread that prints is exiting and may have a
 * small stack.
 */
static struct report {
	char bytes[REPORT_BYTES];
	size_t len;
} report;

__attribute__((format(printf, 1, 2))) static void add(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report.len += wf_vformat(report.bytes + report.len,
				 sizeof(report.bytes) - report.len, fmt, ap);
	va_end(ap);
}

static uint64_t value_in(const struct wf_counters *c, const struct row *row)
{
	return wf_load_relaxed(
		(_Atomic uint64_t *)((const char *)c + row->offset));
}

static uint64_t gather(const struct row *row,
		       const struct wf_counters *const *of_vps, size_t nr)
{
	uint64_t all = value_in(&wf_counters, row);

	for (size_t i = 0; i < nr; i++) {
		uint64_t value = value_in(of_vps[i], row);

		if (!row->is_maximum)
			all += value;
		else if (value > all)
			all = value;
	}
	return all;
}

static void format_text(const struct wf_counters *const *of_vps, size_t nr)
{
	const char *name = program_invocation_short_name;
	int pid = wf_os_getpid();

	if (nr == 0) {
		add("weft: %s (process %d) made no threads\n", name, pid);
		return;
	}
	add("weft: statistics of %s (process %d)\n", name, pid);
	for (size_t r = 0; r < WF_ARRAY_LEN(rows); r++)
		add("weft: %s: %lu\n", rows[r].text,
		    (unsigned long)gather(&rows[r], of_vps, nr));
}

/*
 * Adds a string in quotes. It may have any bytes; those that are not printable
 * ASCII become '?'.
 */
static void add_json_string(const char *string)
{
	add("\"");
	for (const char *s = string; *s != '\0'; s++) {
		bool is_plain = *s >= ' ' && *s <= '~';

		add("%s%c", *s == '"' || *s == '\\' ? "\\" : "",
		    is_plain ? *s : '?');
	}
	add("\"");
}

static void format_json(const struct wf_counters *const *of_vps, size_t nr)
{
	add("{\"program\": ");
	add_json_string(program_invocation_short_name);
	add(", \"process\": %d", wf_os_getpid());
	for (size_t r = 0; r < WF_ARRAY_LEN(rows); r++)
		add(", \"%s\": %lu", rows[r].key,
		    (unsigned long)gather(&rows[r], of_vps, nr));
	add("}\n");
}

static int open_file(void)
{
	if (wf_options.stats_file[0] == '\0')
		return -ENOENT;
	return (int)wf_sys(SYS_openat, AT_FDCWD, wf_options.stats_file,
			   O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY,
			   FILE_MODE);
}

void wf_report_print(const struct wf_counters *const *of_vps, size_t nr)
{
	int fd = open_file();

	if (fd < 0 && !wf_os_stderr_is_there())
		return;
	report.len = 0;
	if (wf_options.stats == WF_STATS_JSON)
		format_json(of_vps, nr);
	else
		format_text(of_vps, nr);
	wf_os_write_quietly(fd < 0 ? STDERR : fd, report.bytes, report.len);
	if (fd >= 0)
		wf_sys(SYS_close, fd);
}
