/* SPDX-License-Identifier: MIT */
/*
 * Each thread has a word for its gs base, in an array of this file. A switch
 * saves the CPU's gs base into the outgoing thread's word, and loads it from
 * the incoming thread's. The array exists once a thread has a gs base other
 * than 0. sched/keys.h does the same for protection keys.
 *
 * REGISTERS-1. The creator of thread i writes bases[i] before thread i can run;
 *     thread i writes it when it is about to stop. It is 0 for threads that
 *     stopped before the first thread had a gs base.
 * REGISTERS-2. The bit WF_REGISTERS_GS is set before the first thread with a gs
 *     base stops or creates another thread. So each thread that runs after it
 *     on that kernel thread, and each that it creates, sees the bit.
 *
 * The own context of a carrier has no word: it leaves the register as it is,
 * and the next thread loads its own value.
 *
 * Rejected: a word in the switch's frame for each thread. It costs a store and
 * a compare in each switch of every program, and hardly any program uses it.
 */
#include "sched/registers.h"

#include "base/log.h"
#include "base/spin.h"
#include "os/mem.h"
#include "sched/keys.h"
#include "sched/table.h"
#include "sched/vp.h"

enum { MAX_THREADS = 1 << WF_TID_INDEX_BITS };

_Atomic uint32_t wf_registers;

/* by thread index; pages appear at the first use; REGISTERS-1 */
static _Atomic(_Atomic uint64_t *) bases;

void wf_registers_add(enum wf_registers use)
{
	atomic_fetch_or(&wf_registers, use);
	wf_vps_add_switch_extra(WF_SWITCH_REGISTERS);
}

void wf_registers_init(bool has_gsbase)
{
	if (!has_gsbase)
		wf_registers_add(WF_REGISTERS_NO_GSBASE);
}

/*
 * Makes the array `bases`. Two threads may do so at once: the later one
 * releases its array.
 */
static void begin_gs(void)
{
	_Atomic uint64_t *none = NULL, *made;

	made = wf_os_reserve(MAX_THREADS * sizeof(*made));
	WF_CHECK(made != NULL, "no memory for gs bases");
	/* release: publishes the array; pairs with the acquire in base_of. */
	if (!atomic_compare_exchange_strong(&bases, &none, made))
		wf_os_release(made, MAX_THREADS * sizeof(*made));
	wf_registers_add(WF_REGISTERS_GS);
}

static _Atomic uint64_t *base_of(const struct wf_thread *t)
{
	return &wf_load_acquire(&bases)[t->index];
}

static bool has_gs(void)
{
	uint32_t used = wf_load_relaxed(&wf_registers);

	return (used & WF_REGISTERS_GS) != 0;
}

void wf_registers_save_slow(const struct wf_thread *t)
{
	uint32_t used = wf_load_relaxed(&wf_registers);

	if ((used & WF_REGISTERS_KEYS) != 0)
		wf_keys_save(t);
	if ((used & WF_REGISTERS_NO_GSBASE) != 0)
		return;
	if (!has_gs() && wf_cpu_gs_base() != 0)
		begin_gs(); /* REGISTERS-2: before the thread stops */
	if (has_gs())
		wf_store_relaxed(base_of(t), wf_cpu_gs_base());
}

/* Writes the register only if its value changes: a read is cheaper. */
void wf_registers_load_slow(const struct wf_thread *t)
{
	uint64_t wanted;

	if ((wf_load_relaxed(&wf_registers) & WF_REGISTERS_KEYS) != 0)
		wf_keys_load(t);
	if (!has_gs())
		return;
	wanted = wf_load_relaxed(base_of(t));
	if (wf_cpu_gs_base() != wanted)
		wf_cpu_set_gs_base(wanted);
}

void wf_registers_begin_carrier(void)
{
	uint32_t used = wf_load_relaxed(&wf_registers);

	if ((used & WF_REGISTERS_NO_GSBASE) == 0 && wf_cpu_gs_base() != 0)
		wf_cpu_set_gs_base(0);
}
