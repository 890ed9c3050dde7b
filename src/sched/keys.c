/* SPDX-License-Identifier: MIT */
/*
 * Each thread has a word for its memory access rights by protection key, in an
 * array of this file. A switch saves the CPU's rights register into the
 * outgoing thread's word, and loads it from the incoming thread's. The array
 * exists from the program's first key on.
 *
 * KEYS-1. The creator of thread i writes rights[i] before thread i can run;
 *     thread i writes it when it is about to stop. The word is the difference
 *     (XOR) from the rights before the first key. So 0 is right for threads
 *     that stopped or were created before the first key: no thread had a key
 *     then.
 * KEYS-2. A thread that uses a key has got it from the thread that called
 *     pkey_alloc. That thread had called wf_keys_begin before, so the user of
 *     the key sees WF_REGISTERS_KEYS.
 * KEYS-3. The kernel runs a signal handler with the rights before the first
 *     key. At the handler's end it restores the interrupted value from the
 *     frame, also from a copied frame (signal/frame.c).
 */
#include "sched/keys.h"

#include "arch/arch.h"
#include "base/log.h"
#include "os/mem.h"
#include "sched/registers.h"
#include "sched/runtime.h"
#include "sched/table.h"

enum { MAX_THREADS = 1 << WF_TID_INDEX_BITS };

static struct wf_spin lock = WF_SPIN_INIT; /* taken by wf_keys_begin() */
/* the rights register before the first key */
static uint32_t usual;
/* by thread index; pages appear at the first use; KEYS-1 */
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
	wf_spin_lock(&lock, WF_RANK_KEYS);
	if (!are_on()) {
		usual = wf_cpu_keys();
		rights = wf_os_reserve(MAX_THREADS * sizeof(*rights));
		WF_CHECK(rights != NULL, "no memory for protection keys");
		/* release would be enough: publishes the array to the threads
		 * of KEYS-2. */
		wf_registers_add(WF_REGISTERS_KEYS);
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

/* Writes the register only if its value changes: a read is cheaper. */
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
