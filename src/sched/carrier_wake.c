/* SPDX-License-Identifier: MIT */
/*
 * How a carrier without work sleeps and wakes. It sleeps on a futex with two
 * bits. One bit means that it has work: a VP or a thread to run. The other bit
 * asks it to make a spare, in the place of an altered carrier that must not
 * (CARRIER-5 in carrier.h).
 */
#include "os/clock.h"
#include "os/futex.h"
#include "os/sys.h"
#include "sched/carrier.h"

/* Bits of struct wf_carrier.wake_word. */
enum { WOKEN = 1 << 0, MAKE_SPARE = 1 << 1 };

static void make_spare(struct wf_carrier *c)
{
	atomic_fetch_and(&c->wake_word, ~(uint32_t)MAKE_SPARE);
	wf_carrier_ensure_spare();
}

void wf_carrier_sleep(struct wf_carrier *c)
{
	uint32_t word;

	/* acquire: c->vp and c->bound; pairs with the release in
	 * wf_carrier_wake. */
	while (((word = wf_load_acquire(&c->wake_word)) & WOKEN) == 0) {
		if ((word & MAKE_SPARE) != 0)
			make_spare(c);
		else
			wf_os_futex_wait(&c->wake_word, word, WF_OS_FOREVER);
	}
	if ((word & MAKE_SPARE) != 0)
		make_spare(c);
}

void wf_carrier_wake(struct wf_carrier *c)
{
	/* release: publishes c->vp and c->bound; pairs with the acquire in
	 * wf_carrier_sleep. */
	atomic_fetch_or(&c->wake_word, WOKEN);
	wf_os_futex_wake(&c->wake_word, 1);
}

/*
 * Waits until there is a spare, and takes it. A carrier that is not altered
 * makes one, for which it may have to wait for a CPU. If the kernel refuses to
 * make one, the wait ends after about a second.
 */
struct wf_carrier *wf_carrier_need_spare_altered(void)
{
	enum { YIELDS = 100, NAPS = 10000 };
	const struct timespec nap = { 0, 100 * WF_NS_PER_US };
	struct wf_carrier *c = wf_carrier_take_spare();

	for (int i = 0; c == NULL && i < YIELDS + NAPS; i++) {
		if (i < YIELDS)
			wf_sys(SYS_sched_yield);
		else
			wf_sys(SYS_nanosleep, &nap, NULL);
		c = wf_carrier_take_spare();
	}
	if (c == NULL)
		return NULL;
	atomic_fetch_or(&c->wake_word, MAKE_SPARE);
	wf_os_futex_wake(&c->wake_word, 1);
	return c;
}
