/* SPDX-License-Identifier: MIT */
/*
 * src/sched/runq.c in every order of its accesses, on a queue of 2 or 4. An
 * owner and thieves do a few operations each, then the queue is emptied. Each
 * entry that was put in must have come out once. If all were put in at the
 * tail, no thread may get an entry that is older than its last.
 *
 * A thread's operations are a string:
 *
 *     t  push a new entry at the tail      owner
 *     h  push a new entry at the head      owner
 *     r  pop, and put it back at the head  owner
 *     p  pop
 *     2  take half, at most 2              1, 4: at most 1, 4
 *
 * A new entry that finds the queue full counts as come out.
 */
#include <stdio.h>
#include <string.h>

#include "explore.h"
#include "sched/runq.h"

enum { ENTRIES_MAX = 32 };

struct scenario {
	/* the first string is the owner's */
	const char *ops[EXPLORE_THREADS_MAX];
	int nr_before;	     /* entries in the queue at the start */
	uint32_t position;   /* of head at the start */
	bool is_never_empty; /* no pop may fail */
};

static const struct scenario scenarios[] = {
	/* The entry at head is exchanged while a thief looks at it. */
	{ { "ph", "p" }, 1, 0, false },
	{ { "r", "p", "p" }, 1, UINT32_MAX, false },
	{ { "rr", "2" }, 2, 0, false },
	{ { "phth", "p", "2" }, 2, 0, false },
	{ { "hphp", "p", "1" }, 1, 1, false },
	/* A full queue, positions that wrap. */
	{ { "tttt", "pp", "p" }, 0, UINT32_MAX - 1, false },
	{ { "tt2tt", "2p" }, 2, UINT32_MAX, false },
	{ { "hthth", "p", "2" }, 1, 0, false },
	{ { "tptpt", "4", "4" }, 1, UINT32_MAX, false },
	{ { "hhht", "4", "p" }, 0, 1, false },
	/* Two or three thieves at once, without a pusher. */
	{ { "", "p", "p", "p" }, 2, 0, false },
	{ { "p", "2", "2" }, 2, UINT32_MAX, false },
	/* A thread that fails to pop must have seen an empty queue. */
	{ { "", "p", "p" }, 2, 0, true },
	{ { "r", "p" }, 2, 0, true },
	{ { "tp", "p" }, 1, 0, true },
};

static struct wf_runq q;
static const struct scenario *now;
static uint64_t next_entry;
static uint8_t seen[ENTRIES_MAX];
static bool is_fifo; /* no thread pushes at the head */
static uint64_t last[EXPLORE_THREADS_MAX];

static void consume(uint64_t entry)
{
	if (entry == 0 || entry >= next_entry)
		explore_fail("an entry came out that was never put in");
	if (seen[entry]++ != 0)
		explore_fail("an entry came out twice");
}

static void got_from_ring(int number, uint64_t entry)
{
	if (is_fifo && entry <= last[number])
		explore_fail("an entry came out before an older one");
	last[number] = entry;
	consume(entry);
}

static void pop(int number, bool puts_back)
{
	uint64_t entry;

	if (!wf_runq_pop(&q, &entry)) {
		if (now->is_never_empty)
			explore_fail("pop failed on a queue with entries");
		return;
	}
	if (!puts_back || !wf_runq_push_head(&q, entry))
		got_from_ring(number, entry);
}

static void take(int number, uint32_t max)
{
	uint64_t got[WF_RUNQ_SIZE];
	uint32_t nr = wf_runq_take_half(
		&q, got, max < WF_RUNQ_SIZE ? max : WF_RUNQ_SIZE);

	for (uint32_t i = 0; i < nr; i++)
		got_from_ring(number, got[i]);
}

static void push(bool at_head)
{
	uint64_t entry = next_entry++;
	bool done = at_head ? wf_runq_push_head(&q, entry) :
			      wf_runq_push_tail(&q, entry);

	if (!done)
		consume(entry);
}

static void body(int number)
{
	for (const char *op = now->ops[number]; *op != '\0'; op++) {
		switch (*op) {
		case 't':
		case 'h':
			push(*op == 'h');
			break;
		case 'p':
		case 'r':
			pop(number, *op == 'r');
			break;
		default:
			take(number, (uint32_t)(*op - '0'));
		}
	}
}

static void begin(void)
{
	wf_runq_init(&q);
	wf_store_relaxed(&q.head, now->position);
	wf_store_relaxed(&q.tail, now->position);
	for (int i = 0; i < WF_RUNQ_SIZE; i++)
		wf_store_relaxed(&q.slot[i], 0);
	memset(seen, 0, sizeof(seen));
	memset(last, 0, sizeof(last));
	is_fifo = true;
	for (int i = 0; i < EXPLORE_THREADS_MAX && now->ops[i] != NULL; i++)
		is_fifo = is_fifo && strpbrk(now->ops[i], "hr") == NULL;
	next_entry = 1;
	for (int i = 0; i < now->nr_before; i++)
		push(false);
}

static void end(void)
{
	uint64_t entry;

	while (wf_runq_pop(&q, &entry))
		consume(entry);
	for (entry = 1; entry < next_entry; entry++) {
		if (seen[entry] == 0)
			explore_fail("an entry was lost");
	}
}

int main(void)
{
	for (size_t i = 0; i < WF_ARRAY_LEN(scenarios); i++) {
		struct explore_case c = { .begin = begin,
					  .body = body,
					  .end = end,
					  .shared = &q,
					  .shared_bytes = sizeof(q) };
		struct explore_counts counts;

		now = &scenarios[i];
		printf("%d before:", now->nr_before);
		while (c.nr_threads < EXPLORE_THREADS_MAX &&
		       now->ops[c.nr_threads] != NULL)
			printf(" '%s'", now->ops[c.nr_threads++]);
		fflush(stdout);
		explore(&c, &counts);
		printf(": %llu states, %llu executions, %llu complete\n",
		       (unsigned long long)counts.states,
		       (unsigned long long)counts.executions,
		       (unsigned long long)counts.complete);
	}
	return 0;
}
