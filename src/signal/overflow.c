/* SPDX-License-Identifier: MIT */
/*
 * A thread that overflows its stack faults in the guard below it. The handler
 * finds the thread's start routine and object, and prints one line. It walks
 * the loader's list of objects without the loader's lock, since the process is
 * about to die: a torn name is better than a deadlock.
 */
#include "signal/overflow.h"

#include <link.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/log.h"
#include "libc/elf.h"

static bool is_in_guard(const struct wf_thread *t, uintptr_t addr)
{
	uintptr_t low;

	if (t->slot.class == NULL || t->slot.has_user_stack)
		return false;
	low = (uintptr_t)wf_slot_stack_low(&t->slot);
	return addr < low && addr >= low - wf_slot_guard_bytes(&t->slot);
}

bool wf_overflow_would(const struct wf_thread *t, uintptr_t top, uintptr_t low)
{
	uintptr_t bottom;

	if (t->slot.class == NULL || t->slot.has_user_stack)
		return false;
	bottom = (uintptr_t)wf_slot_stack_low(&t->slot);
	return low < bottom && top >= bottom - wf_slot_guard_bytes(&t->slot) &&
	       top < bottom + wf_slot_stack_bytes(&t->slot);
}

/* Returns the object with the highest base that is not above addr. */
static const struct link_map *object_of(uintptr_t addr)
{
	const struct r_debug *debug = wf_elf_symbol("ld-linux", "_r_debug");
	const struct link_map *best = NULL;

	if (debug == NULL)
		return NULL;
	for (const struct link_map *m = debug->r_map; m != NULL;
	     m = m->l_next) {
		if (m->l_addr <= addr &&
		    (best == NULL || m->l_addr > best->l_addr))
			best = m;
	}
	return best;
}

void wf_overflow_report(const struct wf_thread *t, const siginfo_t *info,
			const ucontext_t *uc)
{
	uintptr_t start = (uintptr_t)t->start_routine;
	const struct link_map *object;
	const char *file;

	if (!is_in_guard(t, (uintptr_t)info->si_addr) &&
	    !is_in_guard(t, wf_arch_uc_sp(uc) - WF_ARCH_RED_ZONE))
		return;
	object = object_of(start);
	file = object != NULL && object->l_name[0] != '\0' ? object->l_name :
							     "the program";
	wf_log("thread %d (\"%s\", start routine %s+0x%lx) has overflowed its "
	       "stack of %zu bytes",
	       t->tid, t->name, file,
	       start - (object != NULL ? object->l_addr : 0),
	       t->slot.class->stack_bytes);
}
