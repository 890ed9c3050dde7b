#include "trace/counters.h"

#include "base/log.h"

struct wf_counters wf_counters;

void wf_counters_print(const struct wf_counters *const *of_vps, size_t nr)
{
	const struct {
		size_t offset;
		const char *text;
	} rows[] = {
#define X(name, text) { offsetof(struct wf_counters, name), text },
		WF_COUNTERS(X)
#undef X
	};

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		size_t offset = rows[r].offset;
		uint64_t sum = wf_load_relaxed(
			(_Atomic uint64_t *)((char *)&wf_counters + offset));

		for (size_t i = 0; i < nr; i++)
			sum += wf_load_relaxed(
				(_Atomic uint64_t *)((const char *)of_vps[i] +
						     offset));
		wf_log("%s: %lu", rows[r].text, (unsigned long)sum);
	}
}
