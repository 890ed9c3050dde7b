/* SPDX-License-Identifier: MIT */
/* Handoff: takes VPs from carriers that sleep in the kernel, for others. */
#ifndef WEFT_BOOT_HANDOFF_H
#define WEFT_BOOT_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>

struct wf_carrier;
struct wf_thread;
struct wf_vp;

/* On the monitor's kernel thread, first of all. */
void wf_handoff_init(void);

/*
 * Checks all VPs. True if one was handed off: call it again soon, and with
 * is_handing_off set: more carriers are likely to be blocked.
 */
bool wf_handoff_all(int64_t now_ns, bool is_handing_off);

/*
 * True if the carrier runs, or would if it had a CPU; false if it sleeps or
 * nobody knows. On the monitor's kernel thread. Costs ten times a CPU clock.
 */
bool wf_handoff_is_runnable(const struct wf_carrier *c);
/* Has its kernel thread ended? On the monitor's kernel thread. */
bool wf_handoff_has_ended(const struct wf_carrier *c);
/*
 * vp's carrier has ended while it ran t, in the program: the VP goes to a
 * spare, if there is one, and t's retake is TAKEN.
 */
void wf_handoff_from_dead(struct wf_vp *vp, struct wf_thread *t);
/* The same, but true if nobody knows: of one whose CPU clock says enough. */
bool wf_handoff_may_run(const struct wf_carrier *c);

#endif
