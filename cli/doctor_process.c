/* SPDX-License-Identifier: MIT */
/*
 * weft doctor PID: how a process runs on weft. It reads the process's memory
 * only, as weft threads does (see/see.h).
 */
#include <inttypes.h>
#include <string.h>

#include "base/options.h"
#include "cli.h"
#include "see/see.h"

/* Threads of a row that are named. */
enum { MOST_NAMED = 8, MOST_REASONS = 256 };

/* A word of the layout, and what it means. */
struct meaning {
	const char *word, *text;
};

static const struct meaning reasons[] = {
	{ "option", "--bound names their start routine" },
	{ "affinity", "they have CPUs of their own" },
	{ "creator", "the thread that made them has changed its kernel "
		     "thread" },
	{ "kernel_state", "they have changed their kernel thread" },
	{ "blocking_calls",
	  "they block in calls that weft does not intercept" },
	{ "cpu_clock", "a clock or timer counts their CPU time" },
	{ "tracer", "they trace, or may be traced" },
	{ "own_runtime", "a runtime sets their signals without libc" },
	{ "pi_futex", "the kernel knows them as owners of a lock" },
	{ "slow_calls", "their calls gain nothing by parking" },
	{ "last_thread", "the process is to have one thread" },
};

static const struct meaning fallbacks[] = {
	{ "io_uring", "io_uring is refused: I/O workers wait for descriptors" },
	{ "processes", "processes that share memory are refused: I/O workers "
		       "make the calls" },
	{ "membarrier", "membarrier is refused: threads that block in the "
			"kernel hold up others" },
	{ "guards", "MADV_GUARD_INSTALL is refused: vm.max_map_count limits "
		    "the stacks" },
	{ "cpu_timers", "timers of CPU time are refused: the monitor alone "
			"preempts" },
	{ "proc", "/proc cannot be read: threads that block in the kernel are "
		  "noticed late" },
};

static const char *meaning_of(const struct meaning *table, size_t nr,
			      const char *word)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(table[i].word, word) == 0)
			return table[i].text;
	return word; /* of a later version */
}
#define MEANING_OF(table, word) \
	meaning_of(table, sizeof(table) / sizeof((table)[0]), word)

static void row(const char *name)
{
	printf("%-18s", name);
}

/* The 4 bytes at an address of the layout; false: this version lacks it. */
static bool read_word(const struct wf_see *see, const char *name,
		      uint32_t *ret_word)
{
	uint64_t address;

	return wf_see_number(see, name, &address) &&
	       wf_see_read(see, address, ret_word, sizeof(*ret_word));
}

static bool has_fallen_back(const struct wf_see *see, uint32_t bits,
			    const char *to)
{
	for (uint32_t i = 0; i < 32; i++) {
		const char *word = wf_see_enum_word(see, "fallback", i);

		if ((bits & 1U << i) != 0 && word != NULL &&
		    strcmp(word, to) == 0)
			return true;
	}
	return false;
}

/* Threads that wait for descriptors by this backend now. */
static uint32_t count_waits(const struct wf_see_table *table,
			    const char *backend)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr; i++) {
		const struct wf_see_thread *t = &table->threads[i];

		nr += t->wait_kind != NULL && t->backend != NULL &&
		      strcmp(t->backend, backend) == 0;
	}
	return nr;
}

static void report_backend(const struct wf_see *see,
			   const struct wf_see_table *table, uint32_t bits)
{
	uint32_t asked = UINT32_MAX;

	row("I/O backend");
	if (!read_word(see, "io_option", &asked))
		printf("not known");
	else if (asked == WF_IO_PROCESS &&
		 has_fallen_back(see, bits, "processes"))
		printf("workers, in place of process");
	else if (asked == WF_IO_PROCESS)
		printf("process, as WEFT_IO asks");
	else if (asked == WF_IO_WORKERS)
		printf("workers, as WEFT_IO asks");
	else if (has_fallen_back(see, bits, "io_uring"))
		printf("workers, for want of io_uring");
	else
		printf("uring");
	printf("; waits now: %u by uring, %u by workers\n",
	       count_waits(table, "uring"), count_waits(table, "workers"));
}

static const char *reason_of(const struct wf_see_thread *t)
{
	if (!t->is_bound || t->state == WF_SEE_EXITED)
		return NULL;
	return t->bound_why != NULL ? t->bound_why : "not known";
}

/* A row for all threads with the reason of the thread `first`. */
static void report_reason(const struct wf_see_table *table, uint32_t first)
{
	const char *why = reason_of(&table->threads[first]);
	uint32_t nr = 0, named = 0;

	for (uint32_t i = first; i < table->nr; i++) {
		const char *other = reason_of(&table->threads[i]);

		nr += other != NULL && strcmp(other, why) == 0;
	}
	row("bound");
	printf("%u thread%s (%s): %s:", nr, nr == 1 ? "" : "s", why,
	       MEANING_OF(reasons, why));
	for (uint32_t i = first; i < table->nr && named < MOST_NAMED; i++) {
		const struct wf_see_thread *t = &table->threads[i];
		const char *other = reason_of(t);

		if (other == NULL || strcmp(other, why) != 0)
			continue;
		printf("%s %d", named++ > 0 ? "," : "", t->tid);
		if (t->name[0] != '\0')
			printf(" (%s)", t->name);
	}
	if (nr > named)
		printf(", and %u more", nr - named);
	putchar('\n');
}

static void report_bound(const struct wf_see_table *table)
{
	const char *seen[MOST_REASONS];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr; i++) {
		const char *why = reason_of(&table->threads[i]);
		bool is_new = why != NULL && nr < MOST_REASONS;

		for (uint32_t k = 0; k < nr && is_new; k++)
			is_new = strcmp(seen[k], why) != 0;
		if (!is_new)
			continue;
		seen[nr++] = why;
		report_reason(table, i);
	}
	if (nr == 0) {
		row("bound");
		puts("no thread");
	}
}

static void report_fallbacks(const struct wf_see *see, uint32_t bits)
{
	bool is_any = false;

	for (uint32_t i = 0; i < 32; i++) {
		const char *word = wf_see_enum_word(see, "fallback", i);

		if ((bits & 1U << i) == 0)
			continue;
		is_any = true;
		row("fell back");
		puts(word != NULL ? MEANING_OF(fallbacks, word) : "not known");
	}
	if (!is_any) {
		row("fell back");
		puts("nothing");
	}
}

static void report(const struct wf_see *see, const struct wf_see_table *table)
{
	uint32_t bits = 0;
	bool is_known = read_word(see, "fallbacks", &bits);

	row("process");
	printf("%d on weft %s, %u virtual processor%s, %u thread%s\n",
	       wf_see_pid(see), wf_see_version(see), table->nr_vps,
	       table->nr_vps == 1 ? "" : "s", table->nr,
	       table->nr == 1 ? "" : "s");
	report_backend(see, table, bits);
	report_bound(table);
	if (is_known)
		report_fallbacks(see, bits);
}

int wf_doctor_process(const char *pid)
{
	struct wf_see_table table = { 0 };
	struct wf_see *see = NULL;
	int err = wf_see_open(pid, &see);

	if (err == 0)
		err = wf_see_threads(see, &table);
	if (err == 0)
		report(see, &table);
	wf_see_table_free(&table);
	wf_see_close(see);
	if (err < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s", pid,
				   wf_see_error_text(err));
	return 0;
}
