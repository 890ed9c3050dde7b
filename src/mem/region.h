/* SPDX-License-Identifier: MIT */
/*
 * The address space of slots: large reservations in which the slots of a class
 * lie one behind the other, opened a few at a time.
 *
 *     err = wf_region_take(class, &low, &save_top, &number);
 *     if (err == 0)
 *             slot.low = low;
 */
#ifndef WEFT_MEM_REGION_H
#define WEFT_MEM_REGION_H

#include "mem/slot.h"

enum { WF_REGION_FIRST_SLOTS = 16 };

/* Pages by which the slots of a class with wide slots are shifted, at most. */
size_t wf_region_shift_bytes(size_t stride);

/* Looks at the limits: sets wf_slots_are_tight if memory is limited. */
void wf_region_update_limits(void);

/*
 * A slot of the class that was never used: its low end, the end of its save
 * area (NULL in a tight class), and how many came before it. Returns 0 or
 * -ENOMEM. Takes the class's lock.
 */
int wf_region_take(struct wf_slot_class *c, char **ret_low, char **ret_save_top,
		   uint32_t *ret_number);

#endif
