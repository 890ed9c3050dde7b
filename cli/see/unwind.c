/* SPDX-License-Identifier: MIT */
/*
 * UNWIND-1. The rules of an instruction are read once and kept by its address.
 *     Thousands of threads are in the same few functions.
 * UNWIND-2. Each frame lies above the one before it, except where a handler ran
 *     on a stack of its own. So the walk ends, also on damaged memory. The
 *     number of frames has a limit, too.
 */
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#include "rules.h"

enum { MAX_FRAME_BYTES = 64 << 20 };

struct known {
	uint64_t key; /* 0: free */
	bool has_rules;
	struct wf_see_rules rules;
};

struct wf_see_unwinder {
	struct wf_see_objects *objects;
	struct known **table; /* by hash; a power of two */
	size_t size, used;
};

bool wf_see_memory_word(struct wf_see_memory *memory, uint64_t address,
			uint64_t *ret_word)
{
	uint64_t at = address - memory->start;

	if (address >= memory->start && memory->bytes >= 8 &&
	    at <= memory->bytes - 8) {
		memcpy(ret_word, memory->copy + at, 8);
		return true;
	}
	memory->was_left = true;
	return wf_see_read(memory->see, address, ret_word, 8);
}

struct wf_see_unwinder *wf_see_unwinder_new(struct wf_see_objects *objects)
{
	struct wf_see_unwinder *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->objects = objects;
	u->size = 1024;
	u->table = calloc(u->size, sizeof(struct known *));
	if (u->table == NULL) {
		free(u);
		return NULL;
	}
	return u;
}

void wf_see_unwinder_free(struct wf_see_unwinder *u)
{
	if (u == NULL)
		return;
	for (size_t i = 0; i < u->size; i++)
		free(u->table[i]);
	free((void *)u->table);
	free(u);
}

static struct known **place_of(struct known **table, size_t size, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ULL >> 32);

	while (table[i & (size - 1)] != NULL &&
	       table[i & (size - 1)]->key != key)
		i++;
	return &table[i & (size - 1)];
}

static bool grow(struct wf_see_unwinder *u)
{
	struct known **more = calloc(2 * u->size, sizeof(struct known *));

	if (more == NULL)
		return false;
	for (size_t i = 0; i < u->size; i++)
		if (u->table[i] != NULL)
			*place_of(more, 2 * u->size, u->table[i]->key) =
				u->table[i];
	free((void *)u->table);
	u->table = more;
	u->size *= 2;
	return true;
}

/* UNWIND-1. NULL: there are none. */
static const struct wf_see_rules *rules_of(struct wf_see_unwinder *u,
					   uint64_t address)
{
	struct known **place = place_of(u->table, u->size, address),
		     *k = *place;
	struct wf_see_object *object;

	if (k != NULL)
		return k->has_rules ? &k->rules : NULL;
	if (2 * u->used >= u->size) {
		if (!grow(u))
			return NULL;
		place = place_of(u->table, u->size, address);
	}
	k = calloc(1, sizeof(*k));
	if (k == NULL)
		return NULL;
	k->key = address;
	object = wf_see_object_at(u->objects, address);
	k->has_rules = object != NULL &&
		       wf_see_rules_read(object, address, &k->rules);
	*place = k;
	u->used++;
	return k->has_rules ? &k->rules : NULL;
}

/* The caller's registers by a chain of frame pointers. */
static bool step_by_frame_pointer(struct wf_see_memory *memory,
				  struct wf_see_cpu *cpu)
{
	uint64_t at = cpu->value[WF_SEE_DWARF_RBP], next, rip;

	if ((cpu->known >> WF_SEE_DWARF_RBP & 1) == 0 || at % 8 != 0 ||
	    at < cpu->value[WF_SEE_DWARF_RSP] ||
	    !wf_see_memory_word(memory, at, &next) ||
	    !wf_see_memory_word(memory, at + 8, &rip))
		return false;
	cpu->value[WF_SEE_DWARF_RBP] = next;
	cpu->value[WF_SEE_DWARF_RSP] = at + 16;
	cpu->value[WF_SEE_DWARF_RIP] = rip;
	cpu->known = 1U << WF_SEE_DWARF_RBP | 1U << WF_SEE_DWARF_RSP |
		     1U << WF_SEE_DWARF_RIP;
	return true;
}

static bool is_above(uint64_t before, uint64_t after, bool is_signal)
{
	return is_signal ||
	       (after > before && after - before <= MAX_FRAME_BYTES);
}

/* Goes to the caller. Returns 1, 0 at the outermost frame, or -1. */
static int step(struct wf_see_unwinder *u, struct wf_see_memory *memory,
		struct wf_see_cpu *cpu, struct wf_see_frame *frame)
{
	uint64_t sp = cpu->value[WF_SEE_DWARF_RSP];
	uint64_t rip = cpu->value[WF_SEE_DWARF_RIP];
	const struct wf_see_rules *rules = rules_of(u, rip - frame->is_call);
	bool is_signal = rules != NULL && rules->is_signal;

	if (rules != NULL ? !wf_see_rules_apply(rules, memory, cpu) :
			    !step_by_frame_pointer(memory, cpu))
		return -1;
	if ((cpu->known >> WF_SEE_DWARF_RIP & 1) == 0 ||
	    cpu->value[WF_SEE_DWARF_RIP] == 0)
		return 0;
	if (!is_above(sp, cpu->value[WF_SEE_DWARF_RSP], is_signal))
		return -1; /* UNWIND-2 */
	frame->is_guess = frame->is_guess || rules == NULL;
	frame->is_call = !is_signal;
	return 1;
}

uint32_t wf_see_unwind(struct wf_see_unwinder *unwinder,
		       struct wf_see_memory *memory,
		       const struct wf_see_cpu *registers,
		       struct wf_see_frame *frames, uint32_t room,
		       enum wf_see_end *ret_end)
{
	struct wf_see_cpu cpu = *registers;
	struct wf_see_frame frame = { 0 };
	int more = 1;
	uint32_t nr = 0;

	while (more > 0 && nr < room) {
		frame.address = cpu.value[WF_SEE_DWARF_RIP];
		/* A guess that leads to no code is not shown. */
		if (frame.is_guess &&
		    wf_see_map_at(memory->see, frame.address) == NULL) {
			more = -1;
			break;
		}
		frames[nr++] = frame;
		more = step(unwinder, memory, &cpu, &frame);
	}
	*ret_end = more > 0  ? WF_SEE_END_ROOM :
		   more == 0 ? WF_SEE_END_WHOLE :
			       WF_SEE_END_LOST;
	return nr;
}
