/* SPDX-License-Identifier: MIT */
#include "stacks_own.h"

#include <string.h>

struct wf_own_code wf_own_code_of(const struct wf_see *see)
{
	static const char name[] = "/libweft.so";
	struct wf_own_code own = { 0 };
	size_t nr;
	const struct wf_see_map *maps = wf_see_maps(see, &nr);

	for (size_t i = 0; i < nr; i++) {
		const char *slash = strrchr(maps[i].name, '/');

		if (slash == NULL ||
		    strncmp(slash, name, sizeof(name) - 1) != 0)
			continue;
		if (own.start == 0)
			own.start = maps[i].start;
		own.end = maps[i].end;
	}
	return own;
}

bool wf_own_code_has(const struct wf_own_code *own,
		     const struct wf_see_frame *frame)
{
	return frame->address >= own->start && frame->address < own->end;
}

/* A function waits at several instructions, which say nothing to its caller. */
static void go_to_begin(struct wf_see_objects *objects,
			struct wf_see_frame *frame)
{
	uint64_t address = frame->address - frame->is_call;
	struct wf_see_object *object = wf_see_object_at(objects, address);
	struct wf_see_symbol symbol;

	if (object == NULL)
		return;
	wf_see_symbol(object, address, &symbol);
	if (symbol.name == NULL)
		return;
	frame->address = address - symbol.offset;
	frame->is_call = false;
}

void wf_stack_cut_own(const struct wf_own_code *own,
		      struct wf_see_objects *objects,
		      struct wf_see_stack *stack)
{
	struct wf_see_frame *f = stack->frames;
	uint32_t first = 0, nr = stack->nr;

	while (first < nr && wf_own_code_has(own, &f[first]))
		first++;
	if (first == nr)
		return; /* all are: then they are what there is to see */
	if (stack->end == WF_SEE_END_WHOLE)
		while (nr > first && wf_own_code_has(own, &f[nr - 1]))
			nr--;
	if (first > 0)
		go_to_begin(objects, &f[--first]);
	memmove(f, f + first, (nr - first) * sizeof(*f));
	stack->nr = nr - first;
}
