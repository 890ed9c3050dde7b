#include "trace/report.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/log.h"
#include "os/output.h"
#include "os/sys.h"
#include "trace/counters.h"

enum { STDERR = 2, REPORT_BYTES = 4096 };

static const struct row {
	size_t offset;
	const char *text;
	bool is_maximum;
} rows[] = {
#define X(name, text) { offsetof(struct wf_counters, name), text, false },
	WF_COUNTERS(X)
#undef X
#define X(name, text) { offsetof(struct wf_counters, name), text, true },
		WF_MAXIMA(X)
#undef X
};

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

void wf_report_print(const struct wf_counters *const *of_vps, size_t nr)
{
	static char text[REPORT_BYTES]; /* who exits may have a small stack */
	const char *name = program_invocation_short_name;
	int pid = wf_os_getpid();
	size_t len;

	if (!wf_os_stderr_is_there())
		return;
	if (nr == 0) {
		len = wf_format(text, sizeof(text),
				"weft: %s (process %d) made no threads\n", name,
				pid);
		wf_os_write_quietly(STDERR, text, len);
		return;
	}
	/* In one write, so that those of several processes do not mix. */
	len = wf_format(text, sizeof(text),
			"weft: statistics of %s (process %d)\n", name, pid);
	for (size_t r = 0; r < WF_ARRAY_LEN(rows); r++)
		len += wf_format(text + len, sizeof(text) - len,
				 "weft: %s: %lu\n", rows[r].text,
				 (unsigned long)gather(&rows[r], of_vps, nr));
	wf_os_write_quietly(STDERR, text, len);
}
