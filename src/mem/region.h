/* SPDX-License-Identifier: MIT */
/*
 * The address space of slots: large reservations, in which the slots of one
 * class lie one after the other and are opened a few at a time.
 *
 *     err = wf_region_take(class, &low, &save_top, &number);
 *     if (err == 0)
 *             slot.low = low;
 */
#ifndef WEFT_MEM_REGION_H
#define WEFT_MEM_REGION_H

#include "mem/slot.h"

enum { WF_REGION_FIRST_SLOTS = 16 };

/* Returns the largest shift of a slot (see shift_of in region.c), in bytes. */
size_t wf_region_shift_bytes(size_t stride);

/* Reads the limits: sets wf_slots_are_tight if memory is limited. */
void wf_region_update_limits(void);

/*
 * Takes a slot of the class that was never used. Stores its low end, the end of
 * its save area (NULL in a tight class), and how many slots were taken before.
 * Returns 0 or -ENOMEM. Takes the class's lock.
 */
int wf_region_take(struct wf_slot_class *c, char **ret_low, char **ret_save_top,
		   uint32_t *ret_number);

#endif
