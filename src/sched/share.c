#include "sched/share.h"

#include "os/clock.h"

enum {
	PERIOD_MS = 1000,
	SHARE_MS = 50,
	HUNGER_MAX_NS = (PERIOD_MS - SHARE_MS) * WF_NS_PER_MS,
	/* What real-time threads have for each of the others'. */
	RATIO = (PERIOD_MS - SHARE_MS) / SHARE_MS,
};

void wf_share_end(struct wf_vp *vp)
{
	atomic_fetch_and(&vp->look, ~(uint32_t)WF_LOOK_SHARE);
}

void wf_share_used(struct wf_vp *vp, int64_t ns)
{
	int64_t *hunger_ns = &vp->watch.hunger_ns; /* SHARE-1 */

	if (*hunger_ns == 0)
		return;
	*hunger_ns -= RATIO * ns;
	if (*hunger_ns <= 0) {
		*hunger_ns = 0;
		wf_share_end(vp); /* SHARE-2 */
	}
}

void wf_share_missed(struct wf_vp *vp, int64_t ns)
{
	int64_t *hunger_ns = &vp->watch.hunger_ns; /* SHARE-1 */

	*hunger_ns += ns;
	if (*hunger_ns < HUNGER_MAX_NS)
		return;
	*hunger_ns = HUNGER_MAX_NS;
	if (!wf_share_is_on(vp))
		atomic_fetch_or(&vp->look, WF_LOOK_SHARE); /* SHARE-2 */
}
