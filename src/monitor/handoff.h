/* SPDX-License-Identifier: MIT */
/*
 * Handoff: takes VPs from carriers that sleep in the kernel, and gives them to
 * spare carriers. Only the monitor's kernel thread calls these functions:
 *
 *     is_handing_off = wf_handoff_all(wf_os_now(), is_handing_off);
 */
#ifndef WEFT_MONITOR_HANDOFF_H
#define WEFT_MONITOR_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>

struct wf_carrier;
struct wf_thread;
struct wf_vp;

/* Called first when the monitor's kernel thread begins. */
void wf_handoff_init(void);

/*
 * Checks all VPs. Returns true if it has handed one off. More carriers are then
 * likely to block, so call it again soon, with is_handing_off set.
 */
bool wf_handoff_all(int64_t now_ns, bool is_handing_off);

/*
 * True if the carrier runs or waits for a CPU. False if it sleeps, or its state
 * cannot be read. It reads /proc, which costs ten times a read of a CPU clock.
 */
bool wf_handoff_is_runnable(const struct wf_carrier *c);
/* True if the carrier's kernel thread has ended. */
bool wf_handoff_has_ended(const struct wf_carrier *c);
/*
 * Called when vp's carrier has ended while it ran t outside of the runtime.
 * Gives the VP to a spare carrier, if there is one, and sets t's retake to
 * TAKEN.
 */
void wf_handoff_from_dead(struct wf_vp *vp, struct wf_thread *t);
/*
 * As wf_handoff_is_runnable, but true if the state cannot be read. For a
 * carrier with a CPU clock that already shows that it computes.
 */
bool wf_handoff_may_run(const struct wf_carrier *c);

#endif
