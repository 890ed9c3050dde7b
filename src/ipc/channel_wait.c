/* SPDX-License-Identifier: MIT */
/*
 * How an end waits for a slot to change. It first polls, for as long as that
 * paid lately. Then the runtime's agents poll, if the program runs on weft and
 * an agent polls. Then the end sleeps in the kernel.
 *
 * CHANNEL_WAIT-1. A sleeper writes WANTED into its bell, passes a full fence,
 *     then reads the slot. The peer writes the slot, passes a full fence, then
 *     reads the bell. So at least one of the two reads the store of the other.
 * CHANNEL_WAIT-2. No end sleeps for longer than WF_PEER_CHECK_NS. So a waker
 *     that is killed after it wrote the slot, or a hostile one that rings no
 *     bell, causes only a delay.
 * CHANNEL_WAIT-3. A receiver that frees a slot reads the senders' bell without
 *     a fence. A fence would wait for the slot's distant cache line, and delay
 *     the next message. So it may miss a sender that begins to sleep just then.
 *     It reads the bell again at the next slot, and with a fence before it
 *     waits itself. Otherwise CHANNEL_WAIT-2 ends the sleep.
 *
 * Two processes on one CPU cannot poll at the same time. There the waiting end
 * yields the CPU, which costs half as much as a sleep and a wake.
 *
 * A thread of weft first lets other interactive threads run, as if it had
 * parked and been woken. Without that a thread that always gets its answer
 * while it polls would seem CPU-bound, and 31 other threads would wait for the
 * end of its slice. CPU-bound threads do not go first, since their slices are
 * long.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <weft/runtime.h>

#include "arch/arch.h"
#include "ipc/channel.h"
#include "ipc/peer.h"

#define BELL_WANTED 1U
/*
 * The first polls, without a pause and then with pauses of about 40 ns, come
 * before the clock is read.
 */
#define HOT_POLLS 300
#define WARM_POLLS 30
/* Polls between which the CPU is yielded; each takes at least 0.5 us. */
#define YIELDS 4
/* After so many waits in vain the end checks the deadline before it waits. */
#define MOST_WAITS 8
#define SHORT_SLEEP_NS (2000LL * WF_CHANNEL_SPIN_US)

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static bool has_changed(const struct weft_channel *c, uint64_t word)
{
	/* acquire: the message or the free slot; pairs with the releases in
	 * channel_queue.c. */
	return wf_load_acquire(wf_channel_queue_word(&c->queue)) != word;
}

static _Atomic uint32_t *bell_of(struct weft_channel *c, bool is_sender)
{
	return is_sender ? &c->queue.header->room_bell :
			   &c->queue.header->message_bell;
}

/* True if the peer ran on another CPU than the caller's, by its last hint. */
static bool is_apart(struct weft_channel *c)
{
	_Atomic uint32_t *receiver = &c->queue.header->receiver_cpu;
	uint32_t cpu = wf_channel_cpu();

	if (wf_channel_is_sender(c))
		return wf_load_relaxed(receiver) != cpu;
	if (wf_load_relaxed(receiver) != cpu)
		wf_store_relaxed(receiver, cpu);
	return c->queue.cpu != cpu;
}

static bool poll_hot(const struct weft_channel *c, uint64_t word)
{
	for (int i = 0; i < HOT_POLLS; i++) {
		if (has_changed(c, word))
			return true;
	}
	for (int i = 0; i < WARM_POLLS; i++) {
		if (has_changed(c, word))
			return true;
		wf_cpu_pause();
	}
	return false;
}

/*
 * Polls, and between polls gives other processes the CPU and other threads the
 * VP.
 */
static bool poll_yielding(const struct weft_channel *c, uint64_t word)
{
	for (int i = 0; i < YIELDS; i++) {
		weft_yield_cpu();
		if (has_changed(c, word) ||
		    (weft_let_others() && has_changed(c, word)))
			return true;
	}
	return false;
}

/* Polls for a while. Returns true if the slot has changed. */
static bool spin(struct weft_channel *c, uint64_t word)
{
	bool has_let = weft_let_others();
	int64_t end_ns;

	if (has_let && has_changed(c, word))
		return true;
	if (!has_let && is_apart(c) && poll_hot(c, word))
		return true;
	if (poll_yielding(c, word))
		return true;
	end_ns = now_ns(CLOCK_MONOTONIC) + c->spin_us * 1000LL;
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		if (poll_yielding(c, word)) {
			c->spin_us = WF_CHANNEL_SPIN_US;
			return true;
		}
	}
	c->spin_us /= 2;
	return false;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

/*
 * Lets the runtime's agents poll. Returns false if no agent polls, or if there
 * is no memory.
 */
static bool wait_polled(struct weft_channel *c, uint64_t word, int64_t until_ns)
{
	struct timespec until = timespec_of(until_ns);
	int rc;

	if (!weft_is_active())
		return false;
	rc = weft_word_wait_until(wf_channel_queue_word(&c->queue),
				  sizeof(word) | WEFT_WORD_POLLED, UINT64_MAX,
				  word, &until);
	return rc == 0 || rc == ETIMEDOUT;
}

/* Sleeps on the bell. On weft this call parks the thread. */
static void sleep_until(_Atomic uint32_t *bell, int64_t until_ns)
{
	struct timespec until = timespec_of(until_ns);
	int saved = errno;

	syscall(SYS_futex, bell, FUTEX_WAIT_BITSET, BELL_WANTED, &until, NULL,
		FUTEX_BITSET_MATCH_ANY);
	errno = saved;
}

void wf_channel_check(struct weft_channel *c, clockid_t clock)
{
	int64_t now = now_ns(clock);

	if (now - c->checked_ns < WF_PEER_CHECK_NS)
		return;
	c->checked_ns = now;
	if (wf_channel_is_sender(c))
		wf_peer_check_receiver(&c->queue, c->lock_fd);
	else
		wf_peer_check_senders(&c->queue, c->lock_fd);
}

/*
 * Returns why waiting is useless: -EPIPE, -EOWNERDEAD, or -EPROTO if the memory
 * is gone. Returns 0 if the end may wait. May free the end's present slot.
 */
static int verdict(struct weft_channel *c, uint64_t word)
{
	int rc;

	if (WF_UNLIKELY(wf_load_relaxed(&c->is_cut)))
		return -EPROTO;
	if (wf_channel_is_sender(c))
		return wf_peer_receiver(&c->queue);
	if (wf_channel_slot_state(word) == WF_SLOT_CLAIMED &&
	    !wf_peer_sender_is_open(&c->queue, wf_channel_slot_sender(word)))
		wf_channel_queue_skip(&c->queue, word);
	rc = wf_peer_senders(&c->queue, c->nr_seen);
	/* Messages that the sender sent before it left come first. */
	if (rc != 0 && wf_channel_queue_peek(&c->queue, &word) == 0)
		return 0;
	if (rc == -EOWNERDEAD)
		c->nr_seen++;
	return rc;
}

static void ring_bell(_Atomic uint32_t *bell)
{
	int saved = errno;

	wf_store_relaxed(bell, 0);
	syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

/*
 * As verdict, but sets *ret_changed if the slot has changed, so that the end
 * need not wait.
 */
static int judge(struct weft_channel *c, uint64_t word, bool *ret_changed)
{
	uint64_t position = c->queue.position;
	int rc = verdict(c, word);

	*ret_changed = rc == 0 &&
		       (c->queue.position != position || has_changed(c, word));
	return rc;
}

static int try_wait(struct weft_channel *c, uint64_t word)
{
	bool has_come;
	int rc;

	wf_channel_check(c, CLOCK_MONOTONIC_COARSE);
	rc = judge(c, word, &has_come);
	return rc != 0 ? rc : has_come ? 0 : -EAGAIN;
}

int wf_channel_wait(struct weft_channel *c, uint64_t word, int64_t deadline_ns,
		    unsigned int nr_waits)
{
	_Atomic uint32_t *bell = bell_of(c, wf_channel_is_sender(c));
	bool is_announced = false;

	if (nr_waits > MOST_WAITS && now_ns(CLOCK_MONOTONIC) >= deadline_ns)
		return deadline_ns == WF_CHANNEL_TRY ? -EAGAIN : -ETIMEDOUT;
	if (deadline_ns == WF_CHANNEL_TRY)
		return try_wait(c, word);
	if (spin(c, word))
		return 0;
	if (!wf_channel_is_sender(c)) {
		wf_fence_seq_cst(); /* CHANNEL_WAIT-3: before it waits itself */
		wf_channel_ring_senders(c);
	}
	for (;;) {
		int64_t now, until;
		bool has_come;
		int rc;

		wf_channel_check(c, CLOCK_MONOTONIC);
		rc = judge(c, word, &has_come);
		if (rc != 0 || has_come)
			return rc;
		now = now_ns(CLOCK_MONOTONIC);
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		/* CHANNEL_WAIT-2: the longest sleep */
		until = now + WF_PEER_CHECK_NS;
		if (until > deadline_ns)
			until = deadline_ns;
		if (is_announced) {
			sleep_until(bell, until);
			/* If the sleep was short, polling would have cost no
			 * more. */
			if (now_ns(CLOCK_MONOTONIC) - now < SHORT_SLEEP_NS)
				c->spin_us = WF_CHANNEL_SPIN_US;
			is_announced = false;
		} else if (!wait_polled(c, word, until)) {
			wf_store_relaxed(bell, BELL_WANTED);
			/* CHANNEL_WAIT-1: bell, then slot */
			wf_fence_seq_cst();
			is_announced = true;
		}
	}
}

void wf_channel_ring_receiver(struct weft_channel *c)
{
	_Atomic uint32_t *bell = &c->queue.header->message_bell;

	wf_fence_seq_cst(); /* CHANNEL_WAIT-1: slot, then bell */
	if (WF_UNLIKELY(wf_load_relaxed(bell) != 0))
		ring_bell(bell);
}

void wf_channel_ring_senders(struct weft_channel *c)
{
	_Atomic uint32_t *bell = &c->queue.header->room_bell;

	/* CHANNEL_WAIT-3: no fence */
	if (WF_UNLIKELY(wf_load_relaxed(bell) != 0))
		ring_bell(bell);
}

void wf_channel_ring_all(struct weft_channel *c)
{
	/* CHANNEL_WAIT-1. The end's state was written in place of a slot. */
	wf_fence_seq_cst();
	ring_bell(bell_of(c, !wf_channel_is_sender(c)));
}
