/* SPDX-License-Identifier: MIT */
/*
 * A region is reserved without access and opened a few slots at a time. Memory
 * that is not open counts only against the limit on address space, and mlockall
 * does not fill it. In a class that is not tight, the save areas lie behind the
 * slots of the region. Few threads ever touch theirs, and between the slots
 * they would cost page tables.
 *
 * REGION-1. Bytes in [region_next, region_open) are open and in no slot. Bytes
 *     from there to region_end are reserved.
 */
#include "mem/region.h"

#include <errno.h>

#include "base/compiler.h"
#include "os/mem.h"

enum {
	MAX_REGION_SLOTS = 4096,
	MAX_OPEN_SLOTS = 64,
	/* A region takes at most 1/64 of a limited address space. */
	REGION_SHARE = 64,
	/* Number of different shifts of a wide slot: see shift_of. */
	NR_SHIFTS = 8,
	WIDE_BYTES = 8 << 20,
};

_Atomic bool wf_slots_are_tight;

void wf_region_update_limits(void)
{
	if (!wf_load_relaxed(&wf_slots_are_tight) && wf_os_memory_is_limited())
		wf_store_relaxed(&wf_slots_are_tight, true);
}

size_t wf_region_shift_bytes(size_t stride)
{
	return stride < WIDE_BYTES ? 0 : (NR_SHIFTS - 1) * WF_PAGE;
}

/*
 * Returns by how many bytes slot `number` is shifted, so that wide slots do not
 * lie at equal distances. Wide are slots of 8 MiB and more, as those of the
 * default stack size. On AMD's Zen 5, threads that run in the order of such
 * slots are up to half slower if the distances are equal. In another order they
 * are not. The CPU prefetches memory that is touched at equal distances, and
 * seems to take such a distance for a shorter one.
 */
static size_t shift_of(const struct wf_slot_class *c, uint32_t number)
{
	if (c->pitch == c->stride)
		return 0;
	/* Multiples of the golden ratio: neighbours differ much in position. */
	return (number * 2654435769U) / (UINT32_MAX / NR_SHIFTS + 1) * WF_PAGE;
}

/* Returns the largest number of slots that the next region may have. */
static size_t slots_to_reserve(const struct wf_slot_class *c, size_t each)
{
	size_t limit = wf_os_address_limit() / REGION_SHARE;
	size_t slots = c->region_slots;

	wf_region_update_limits();
	/* mlockall may be in force, so that memory counts against the limit as
	 * soon as it is reserved: then reserve one slot at a time. */
	if (wf_load_relaxed(&wf_slots_are_tight) && wf_os_locks_new_memory())
		return 1;
	while (slots > 1 && slots > limit / each)
		slots /= 2;
	return slots;
}

/* Reserves the next region, a smaller one if address space is short. */
static bool map_region_locked(struct wf_slot_class *c)
{
	size_t each = c->pitch + c->save_bytes;
	size_t slots = slots_to_reserve(c, each);
	char *p = NULL;

	for (; slots > 0; slots /= 2) {
		size_t bytes;

		if (__builtin_mul_overflow(slots, each, &bytes))
			continue;
		p = wf_os_reserve_closed(bytes);
		if (p != NULL)
			break;
	}
	if (p == NULL)
		return false;
	wf_os_no_huge(p, slots * each);
	c->region_next = p;
	c->region_open = p;
	c->region_end = p + slots * c->pitch;
	c->save_next = c->region_end;
	c->region_slots = slots * 2 > MAX_REGION_SLOTS ? MAX_REGION_SLOTS :
							 slots * 2;
	return true;
}

/*
 * Opens one slot without its guard: so the guard counts only against the limit
 * on address space.
 */
static bool open_one_locked(struct wf_slot_class *c)
{
	if (wf_os_open(c->region_open + c->guard_bytes,
		       c->pitch - c->guard_bytes,
		       wf_load_relaxed(&wf_slots_have_code)) != 0)
		return false;
	c->region_open += c->pitch;
	return true;
}

/*
 * Opens some more slots. If all were opened at once, mlockall would fill them
 * with memory, and without overcommit all would count against the limit.
 */
static bool open_slots_locked(struct wf_slot_class *c)
{
	size_t left = (size_t)(c->region_end - c->region_open) / c->pitch;
	size_t nr = c->nr_mapped / 8 + 1;

	if (c->is_tight)
		return open_one_locked(c);
	nr = nr < MAX_OPEN_SLOTS ? nr : MAX_OPEN_SLOTS;
	nr = nr < left ? nr : left;
	for (; nr > 0; nr /= 2) {
		if (wf_os_open(c->save_next, nr * c->save_bytes, false) == 0 &&
		    wf_os_open(c->region_open, nr * c->pitch,
			       wf_load_relaxed(&wf_slots_have_code)) == 0)
			break;
	}
	c->region_open += nr * c->pitch;
	return nr > 0;
}

static int take_locked(struct wf_slot_class *c, char **ret_low,
		       char **ret_save_top, uint32_t *ret_number)
{
	if (c->region_next == c->region_end && !map_region_locked(c))
		return -ENOMEM;
	if (c->region_next == c->region_open && !open_slots_locked(c))
		return -ENOMEM;
	*ret_low = c->region_next + shift_of(c, c->nr_mapped);
	c->region_next += c->pitch;
	c->save_next += c->save_bytes;
	*ret_save_top = c->save_bytes != 0 ? c->save_next : NULL;
	*ret_number = c->nr_mapped++;
	return 0;
}

int wf_region_take(struct wf_slot_class *c, char **ret_low, char **ret_save_top,
		   uint32_t *ret_number)
{
	int err;

	wf_spin_lock(&c->lock, WF_RANK_SLOT_CLASS);
	err = take_locked(c, ret_low, ret_save_top, ret_number);
	wf_spin_unlock(&c->lock);
	return err;
}
