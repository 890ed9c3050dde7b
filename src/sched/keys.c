/* SPDX-License-Identifier: MIT */
/*
 * KEYS-1. rights[i] is written by the creator of thread i before that can run,
 *     and by the thread itself when it is about to stop. It is what differs
 *     from usual, so that threads which have stopped before the beginning, or
 *     were created before it, have what they had: nobody has been given a key
 *     then.
 * KEYS-2. Who has a key has heard of it from who asked for it, since that one
 *     had begun: it sees WF_REGISTERS_KEYS.
 * KEYS-3. In a handler the kernel sets the register to what all begin with, and
 *     it takes the interrupted one from the frame at the end, also from one
 *     that was copied (signal/frame.c).
 */
#include "sched/keys.h"

#include "arch/arch.h"
#include "base/log.h"
#include "os/mem.h"
#include "sched/registers.h"
#include "sched/runtime.h"
#include "sched/table.h"

enum { MAX_THREADS = 1 << WF_TID_INDEX_BITS };

static struct wf_spin lock = WF_SPIN_INIT; /* to begin */
static uint32_t usual;			   /* what all begin with */
/* KEYS-1, by index; touched where it is used */
static _Atomic uint32_t *rights;

static bool are_on(void)
{
	return (wf_load_acquire(&wf_registers) & WF_REGISTERS_KEYS) != 0;
}

void wf_keys_begin(void)
{
	struct wf_thread *me;

	if (are_on() || !wf_cpu_has_keys())
		return;
	me = wf_runtime_enter();
	wf_spin_lock(&lock);
	if (!are_on()) {
		usual = wf_cpu_keys();
		rights = wf_os_reserve(MAX_THREADS * sizeof(*rights));
		WF_CHECK(rights != NULL, "no memory for protection keys");
		/* seq_cst, release would do: the above; pairs with KEYS-2. */
		atomic_fetch_or(&wf_registers, WF_REGISTERS_KEYS);
	}
	wf_spin_unlock(&lock);
	wf_runtime_leave(me);
}

void wf_keys_fork_child(void)
{
	lock = WF_SPIN_INIT;
}

void wf_keys_save(const struct wf_thread *t)
{
	wf_store_relaxed(&rights[t->index], wf_cpu_keys() ^ usual);
}

/* Writing takes longer than reading. */
void wf_keys_load(const struct wf_thread *t)
{
	uint32_t wanted = wf_load_relaxed(&rights[t->index]) ^ usual;

	if (wf_cpu_keys() != wanted)
		wf_cpu_set_keys(wanted);
}

bool wf_keys_are_held_slow(void)
{
	return are_on() && wf_cpu_keys() != usual;
}
