/* SPDX-License-Identifier: MIT */
/*
 * Two threads seem to wait for each other, but `weft ps` has read their records
 * at different moments. wf_see_cycles reads the records again, and must notice
 * the change, whichever thread has changed and before whichever read.
 */
#include <stdio.h>
#include <string.h>

#include "see/open.h"

/*
 * Reads before the first round, and in a round: an owner and a record of each
 * thread.
 */
enum { BEGIN = 5, ROUND = 4 };

/* The process: two threads, and the mutexes that they wait for. */
struct process {
	struct {
		uint32_t tid, generation;
		uint64_t wait_addr;
	} threads[2];
	struct {
		uint32_t word, owner;
	} mutexes[2];
	char rest[64]; /* a record has 64 bytes */
};

static struct process process;
static int nr_reads, change_at, change;

/* The process changes at the read with the number change_at. */
static void go_on(void)
{
	if (nr_reads++ != change_at)
		return;
	if (change == 0)
		process.mutexes[1].owner = 0;
	else if (change == 1)
		process.threads[0].generation++;
	else if (change == 2)
		process.threads[1].wait_addr = 0;
	else
		process.threads[1].tid = 0;
}

static size_t read_memory(const struct wf_see_source *s, uint64_t address,
			  void *to, size_t bytes)
{
	(void)s;
	go_on();
	memcpy(to, (const void *)(uintptr_t)address, bytes);
	return bytes;
}

static struct wf_see_source source = { .read = read_memory, .pid = 1 };
static const uint32_t used = 2;
static const void *table_at = &process;
static struct {
	uint64_t is_started, nr_vps, vps;
} sched = { 1, 0, 0 };
static struct wf_see see = {
	.source = &source,
	.items = {
		.thread_tid = { 0, 4 },
		.thread_generation = { 4, 4 },
		.thread_wait_addr = { 8, 8 },
		.thread_bytes = 64,
		.mutex_owner = { 4, 4 },
		.sched_is_started = { 0, 8 },
		.sched_nr_vps = { 8, 8 },
		.sched_vps = { 16, 8 },
	},
};

static struct wf_see_thread row(int i)
{
	return (struct wf_see_thread){
		.record = (uintptr_t)&process.threads[i],
		.tid = 100 + i,
		.wait_kind = "mutex",
		.wait_addr = (uintptr_t)&process.mutexes[i],
		.object = (uintptr_t)&process.mutexes[i],
		.wait_generation = 7,
		.owner_tid = 101 - i,
		.owner = 1 - (uint32_t)i,
	};
}

static void count(void *arg, const struct wf_see_thread *const *of, uint32_t nr)
{
	(void)of;
	*(uint32_t *)arg += nr;
}

/* Threads in the cycles that are reported if `what` happens at read `at`. */
static uint32_t found(int what, int at)
{
	struct wf_see_thread threads[2] = { row(0), row(1) };
	const struct wf_see_table table = { .threads = threads, .nr = 2 };
	uint32_t nr = 0;

	process = (struct process){ .mutexes = { { 1, 101 }, { 1, 100 } } };
	for (uint32_t i = 0; i < 2; i++) {
		process.threads[i].tid = 100 + i;
		process.threads[i].generation = 7;
		process.threads[i].wait_addr = threads[i].wait_addr;
	}
	nr_reads = 0;
	change = what;
	change_at = at;
	if (wf_see_cycles(&see, &table, count, &nr) < 0)
		return 99;
	return nr;
}

int main(void)
{
	int nr_all;

	see.items.table_used = (uintptr_t)&used;
	see.items.table = (uintptr_t)&table_at;
	see.items.sched = (uintptr_t)&sched;
	if (found(0, -1) != 2) {
		puts("a cycle is not found");
		return 1;
	}
	nr_all = nr_reads;
	if (nr_all != BEGIN + 2 * ROUND) {
		printf("%d reads\n", nr_all);
		return 1;
	}
	for (int what = 0; what < 4; what++) {
		/* A change in the last round may come too late to be seen. */
		for (int at = 0; at < BEGIN + ROUND; at++) {
			if (found(what, at) == 0)
				continue;
			printf("change %d at read %d of %d is not seen\n", what,
			       at, nr_all);
			return 1;
		}
	}
	return 0;
}
