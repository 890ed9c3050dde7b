/* SPDX-License-Identifier: MIT */
/*
 * Runs src/ipc/channel_queue.c in every order of its accesses, on a queue of
 * two slots, while one end is killed. Each case is run with the mortal thread
 * ending before its first access to shared memory, before its second, and so
 * on.
 *
 * A thread is a string; its first letter names its role:
 *
 *     S, T  sender number 0, 1      R  the receiver
 *     s, r  the next owner of sender 0's number, the next receiver: begins
 *           when it finds the former one dead, else does nothing
 *
 * and each '.' behind it is one attempt to send, or to receive. The mortal
 * thread has '!' at its end.
 *
 * In the end, every message that was sent completely has come once, in its
 * sender's order. A message that was cut off has come once or not at all. After
 * the death of a receiver its last message may have come twice. The queue still
 * works.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "explore.h"

/* The thread that is to die may do so at each stop. */
static void stop(void);
#define explore_stop stop
#include "../../src/ipc/channel_queue.c"
#undef explore_stop

enum { NR_SLOTS = 2, MESSAGES_MAX = 32, NEVER = 1000 };

struct scenario {
	const char *threads[EXPLORE_THREADS_MAX + 1];
	uint32_t flags;
};

static const struct scenario scenarios[] = {
	{ { "S...", "R...." }, 0 },
	{ { "S..!", "s..", "R..." }, 0 },
	{ { "S...", "R..!", "r.." }, 0 },
	{ { "S.", "T.", "R.." }, WF_CHANNEL_FLAG_MANY },
	{ { "S...", "T..", "R" }, WF_CHANNEL_FLAG_MANY },
	{ { "S.!", "T.", "R.." }, WF_CHANNEL_FLAG_MANY },
	{ { "S.!", "s.", "R.." }, WF_CHANNEL_FLAG_MANY },
	{ { "S..", "R..!", "r." }, WF_CHANNEL_FLAG_MANY },
};

static struct {
	_Alignas(4096) unsigned char memory[WF_CHANNEL_HEADER_BYTES + 64 * 2];
	/* Stand-ins for the locks and states of peer.c. */
	_Atomic uint64_t is_dead[2], receiver_is_dead;
} shared;

static const struct scenario *now;
static const struct wf_channel_shape *shape;
static int mortal, die_at, nr_stops;
static bool has_died;
static jmp_buf grave;

/* For each message: was its sending complete, and how often did it arrive? */
static bool is_sent[MESSAGES_MAX];
static int nr_came[MESSAGES_MAX], last_came[EXPLORE_THREADS_MAX];
static int next_message[EXPLORE_THREADS_MAX];

static void stop(void)
{
	(explore_stop)();
	if (explore_current() >= 0 && explore_current() == mortal &&
	    ++nr_stops == die_at)
		_longjmp(grave, 1);
}

/* Sends one message; a thread's messages are numbered from 8 * its number. */
static void send_one(int number, struct wf_channel_queue *r)
{
	uint64_t word;
	int message, rc = wf_channel_queue_claim(r, &word);

	if (rc == -EAGAIN)
		return;
	if (rc != 0)
		explore_fail("a sender found nonsense");
	message = 8 * number + next_message[number]++;
	*(uint64_t *)wf_channel_queue_room(r) = (uint64_t)message;
	if (wf_channel_queue_publish(r, sizeof(uint64_t)) != 0)
		explore_fail("a living sender was taken for dead");
	is_sent[message] = true;
}

static void came(const void *at)
{
	uint64_t message = *(const uint64_t *)at;

	if (message >= MESSAGES_MAX)
		explore_fail("a message was never sent");
	explore_learn(message);
	nr_came[message]++;
	if ((int)message < last_came[message / 8])
		explore_fail("a message came before an older one");
	last_came[message / 8] = (int)message;
}

/* Receives like wait.c. Returns false if there is no message. */
static bool receive_one(struct wf_channel_queue *r)
{
	const void *message;
	uint64_t word;
	uint32_t size;
	int rc = wf_channel_queue_peek(r, &word);

	if (rc == -EAGAIN && wf_channel_slot_state(word) == WF_SLOT_CLAIMED &&
	    wf_load_acquire(&shared.is_dead[wf_channel_slot_sender(word)])) {
#ifndef EXPLORE_BUG_NO_SKIP
		wf_channel_queue_skip(r, word);
		return true;
#endif
	}
	if (rc == -EAGAIN)
		return false;
	if (rc != 0 || wf_channel_queue_message(r, &message, &size) != 0 ||
	    size != sizeof(uint64_t))
		explore_fail("the receiver found nonsense");
	came(message);
	wf_channel_queue_free(r);
	return true;
}

/* Takes over like peer.c: PEER-3. */
static bool succeed(char kind, struct wf_channel_queue *r)
{
	_Atomic uint64_t *is_dead = kind == 's' ? &shared.is_dead[0] :
						  &shared.receiver_is_dead;

	if (!wf_load_acquire(is_dead))
		return false;
	if (wf_channel_queue_attach(r, shared.memory, shape, kind == 's', 0) !=
	    0)
		explore_fail("a successor found nonsense");
#ifdef EXPLORE_BUG_TRUST_HINT
	r->position = wf_load_relaxed(kind == 's' ? &r->header->tail :
						    &r->header->head);
#endif
	if (kind == 's') {
#ifndef EXPLORE_BUG_NO_ABANDON
		wf_channel_queue_abandon_all(r);
#endif
		wf_store_release(is_dead, 0);
	}
	return true;
}

static void live(int number, const char *thread)
{
	bool is_sender = strchr("STs", thread[0]) != NULL;
	struct wf_channel_queue r;

	if (thread[0] == 's' || thread[0] == 'r') {
		if (!succeed(thread[0], &r))
			return;
	} else if (wf_channel_queue_attach(&r, shared.memory, shape, is_sender,
					   thread[0] == 'T') != 0) {
		explore_fail("an end found nonsense");
	}
	for (const char *p = thread + 1; *p == '.'; p++) {
		if (is_sender)
			send_one(number, &r);
		else
			receive_one(&r);
	}
}

static void body(int number)
{
	const char *thread = now->threads[number];

	if (number != mortal || _setjmp(grave) == 0) {
		live(number, thread);
		return;
	}
	has_died = true;
	(explore_stop)();
	if (thread[0] == 'R')
		atomic_store(&shared.receiver_is_dead, 1);
	else
		atomic_store(&shared.is_dead[0], 1);
}

static void begin(void)
{
	memset(&shared, 0, sizeof(shared));
	wf_channel_queue_format(shared.memory, shape);
	memset(is_sent, 0, sizeof(is_sent));
	memset(nr_came, 0, sizeof(nr_came));
	memset(last_came, 0, sizeof(last_came));
	memset(next_message, 0, sizeof(next_message));
	nr_stops = 0;
}

/* Checks that every slot can be used. */
static void check_ring(struct wf_channel_queue *in)
{
	struct wf_channel_queue out;
	uint64_t word;

	if (wf_channel_queue_attach(&out, shared.memory, shape, true, 3) != 0)
		explore_fail("the queue is broken");
	for (int i = 0; i < NR_SLOTS; i++) {
		if (wf_channel_queue_claim(&out, &word) != 0 ||
		    wf_channel_queue_publish(&out, 8) != 0)
			explore_fail("a slot is lost");
	}
	if (wf_channel_queue_claim(&out, &word) != -EAGAIN)
		explore_fail("the queue has grown");
	for (int i = 0; i < NR_SLOTS; i++) {
		if (wf_channel_queue_peek(in, &word) != 0)
			explore_fail("a message does not come");
		wf_channel_queue_free(in);
	}
}

static void end(void)
{
	bool may_repeat = atomic_load(&shared.receiver_is_dead);
	struct wf_channel_queue in;

	if (wf_channel_queue_attach(&in, shared.memory, shape, false, 0) != 0)
		explore_fail("nobody can receive");
	while (receive_one(&in))
		;
	for (int i = 0; i < MESSAGES_MAX; i++) {
		if (nr_came[i] > 1 + may_repeat)
			explore_fail("a message came twice");
		may_repeat = may_repeat && nr_came[i] <= 1;
		if (is_sent[i] && nr_came[i] == 0)
			explore_fail("a message was lost");
	}
	check_ring(&in);
}

static void run(struct explore_counts *sum)
{
	struct explore_case c = { .begin = begin,
				  .body = body,
				  .end = end,
				  .shared = &shared,
				  .shared_bytes = sizeof(shared) };
	struct explore_counts counts;

	while (now->threads[c.nr_threads] != NULL)
		c.nr_threads++;
	explore(&c, &counts);
	sum->states += counts.states;
	sum->executions += counts.executions;
	sum->complete += counts.complete;
}

int main(void)
{
	for (size_t i = 0; i < WF_ARRAY_LEN(scenarios); i++) {
		struct wf_channel_shape s = { scenarios[i].flags, 8, NR_SLOTS };
		struct explore_counts sum = { 0 };

		now = &scenarios[i];
		shape = &s;
		mortal = -1;
		for (int k = 0; now->threads[k] != NULL; k++) {
			printf(" %s", now->threads[k]);
			if (strchr(now->threads[k], '!') != NULL)
				mortal = k;
		}
		fflush(stdout);
		die_at = mortal < 0 ? NEVER : 1;
		do {
			has_died = false;
			run(&sum);
			die_at++;
		} while (has_died);
		printf(": %d deaths, %llu states, "
		       "%llu executions, %llu complete\n",
		       mortal < 0 ? 0 : die_at - 2,
		       (unsigned long long)sum.states,
		       (unsigned long long)sum.executions,
		       (unsigned long long)sum.complete);
	}
	return 0;
}
