/* SPDX-License-Identifier: MIT */
/*
 * How an end waits for a slot to change: it polls it for as long as that paid
 * lately, then lets the runtime's agents poll if the program runs on weft and
 * an agent polls, then sleeps in the kernel.
 *
 * CHANNEL_WAIT-1. A sleeper writes WANTED into its bell, then reads the slot;
 *     the other side writes the slot, then reads the bell; between the two both
 *     have a full fence. So one of them sees the other.
 * CHANNEL_WAIT-2. Nobody sleeps for longer than WF_PEER_CHECK_NS. So a waker
 *     that is killed after it wrote the slot, or a hostile one that queues no
 *     bell, delays, and no more.
 * CHANNEL_WAIT-3. A receiver reads its senders' bell without a fence when it
 *     frees a slot: the slot's line is far away then, and its next message is
 *     what it should look for. It may miss a sender that is just falling
 *     asleep; it reads the bell again at the next slot, and with a fence before
 *     it waits itself, and else there is CHANNEL_WAIT-2.
 *
 * Two processes on one CPU cannot both look: there the end that waits yields
 * the CPU, which costs half of what sleeping and waking does.
 *
 * A thread of weft's lets others that wait a lot go first before it looks, as
 * if it had parked and been woken. Else one that is answered while it looks
 * seems to compute, and 31 others wait for the end of its slice. Not threads
 * that compute, whose turns are long.
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
/* Looks without and with a pause (some 40 ns) before the clock is read. */
#define HOT_POLLS 300
#define WARM_POLLS 30
/* And yields, of half a microsecond at least. */
#define YIELDS 4
/* Waits in vain before the deadline counts more than the next one. */
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
	/* acquire: pairs with the releases in channel_queue.c. */
	return wf_load_acquire(wf_channel_queue_word(&c->queue)) != word;
}

static _Atomic uint32_t *bell_of(struct weft_channel *c, bool is_sender)
{
	return is_sender ? &c->queue.header->room_bell :
			   &c->queue.header->message_bell;
}

/* Is the other end, as far as we know, on another CPU than we are? */
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

/* The CPU goes to other processes between looks, the VP to other threads. */
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

/* Looks for a while; true if the slot changed. */
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

/* The runtime's agents look; false if none does, or for so many words. */
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

/* On weft the thread parks. */
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
 * Why there is nothing to wait for: 0 if there is, -EPIPE, -EOWNERDEAD, or
 * -EPROTO if the memory is gone. May change the slot at hand.
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
	/* What was sent before the sender went comes first. */
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

/* Is it worth waiting on? 0, or what wf_channel_wait returns. */
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
		wf_fence_seq_cst(); /* CHANNEL_WAIT-3 */
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
		until = now + WF_PEER_CHECK_NS; /* CHANNEL_WAIT-2 */
		if (until > deadline_ns)
			until = deadline_ns;
		if (is_announced) {
			sleep_until(bell, until);
			/* To go on looking would have been as cheap. */
			if (now_ns(CLOCK_MONOTONIC) - now < SHORT_SLEEP_NS)
				c->spin_us = WF_CHANNEL_SPIN_US;
			is_announced = false;
		} else if (!wait_polled(c, word, until)) {
			wf_store_relaxed(bell, BELL_WANTED);
			wf_fence_seq_cst(); /* CHANNEL_WAIT-1 */
			is_announced = true;
		}
	}
}

void wf_channel_ring_receiver(struct weft_channel *c)
{
	_Atomic uint32_t *bell = &c->queue.header->message_bell;

	wf_fence_seq_cst(); /* CHANNEL_WAIT-1 */
	if (WF_UNLIKELY(wf_load_relaxed(bell) != 0))
		ring_bell(bell);
}

void wf_channel_ring_senders(struct weft_channel *c)
{
	_Atomic uint32_t *bell = &c->queue.header->room_bell;

	if (WF_UNLIKELY(wf_load_relaxed(bell) != 0)) /* CHANNEL_WAIT-3 */
		ring_bell(bell);
}

void wf_channel_ring_all(struct weft_channel *c)
{
	/* CHANNEL_WAIT-1, with the end's state in place of the slot */
	wf_fence_seq_cst();
	ring_bell(bell_of(c, !wf_channel_is_sender(c)));
}
