/* SPDX-License-Identifier: MIT */
/*
 * The account of real-time throttling, watch.throttled_ns. The tick adds the
 * time for which real-time threads ran while others waited. It subtracts 19
 * times the time for which other threads ran. At 950 ms it sets
 * WF_PENDING_THROTTLE in the VP's word, at 0 it clears the bit. The invariants
 * are in throttle.h.
 */
#include "sched/throttle.h"

#include "os/clock.h"

enum {
	PERIOD_MS = 1000,
	OTHERS_MS = 50,
	REALTIME_NS = (PERIOD_MS - OTHERS_MS) * WF_NS_PER_MS,
	/* ms of real-time threads for each ms of other threads. */
	RATIO = (PERIOD_MS - OTHERS_MS) / OTHERS_MS,
};

void wf_throttle_end(struct wf_vp *vp)
{
	atomic_fetch_and(&vp->pending, ~(uint32_t)WF_PENDING_THROTTLE);
}

void wf_throttle_others_ran(struct wf_vp *vp, int64_t ns)
{
	/* the account: THROTTLE-1 */
	int64_t *throttled_ns = &vp->watch.throttled_ns;

	if (*throttled_ns == 0)
		return;
	*throttled_ns -= RATIO * ns;
	if (*throttled_ns <= 0) {
		*throttled_ns = 0;
		wf_throttle_end(vp); /* THROTTLE-2: it has come to 0 */
	}
}

void wf_throttle_realtime_ran(struct wf_vp *vp, int64_t ns)
{
	/* the account: THROTTLE-1 */
	int64_t *throttled_ns = &vp->watch.throttled_ns;

	*throttled_ns += ns;
	if (*throttled_ns < REALTIME_NS)
		return;
	*throttled_ns = REALTIME_NS;
	if (!wf_throttle_is_on(vp))
		atomic_fetch_or(&vp->pending,
				WF_PENDING_THROTTLE); /* THROTTLE-2 */
}
