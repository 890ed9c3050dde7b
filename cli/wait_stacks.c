/* SPDX-License-Identifier: MIT */
#include "wait_stacks.h"

#include <stdio.h>
#include <stdlib.h>

#include "see/json.h"
#include "stacks.h"
#include "stacks_own.h"

struct wf_wait_stacks {
	const struct wf_see *see;
	struct wf_own_code own;
	struct wf_see_objects objects;
	struct wf_see_unwinder *unwinder;
	struct wf_see_stack stack;
};

struct wf_wait_stacks *wf_wait_stacks_new(const struct wf_see *see)
{
	struct wf_wait_stacks *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->see = s->objects.see = see;
	s->own = wf_own_code_of(see);
	s->unwinder = wf_see_unwinder_new(&s->objects);
	if (s->unwinder == NULL) {
		free(s);
		return NULL;
	}
	return s;
}

void wf_wait_stacks_free(struct wf_wait_stacks *s)
{
	if (s == NULL)
		return;
	wf_see_unwinder_free(s->unwinder);
	wf_see_objects_free(&s->objects);
	free(s);
}

bool wf_wait_stacks_read(struct wf_wait_stacks *s,
			 const struct wf_see_thread *thread)
{
	s->stack.nr = 0;
	if (wf_see_stack_read(s->see, s->unwinder, thread, false, &s->stack) !=
	    0)
		return false;
	wf_stack_cut_own(&s->own, &s->objects, &s->stack);
	return s->stack.nr > 0;
}

/* The innermost frame with a line; or the innermost one that is not weft's. */
void wf_wait_stacks_line(struct wf_wait_stacks *s, char *ret_text, size_t room)
{
	bool is_set = false, has_line = false;

	snprintf(ret_text, room, "?");
	for (uint32_t i = 0; i < s->stack.nr && !has_line; i++) {
		const struct wf_see_frame *frame = &s->stack.frames[i];
		struct wf_stack_place place;

		if (wf_own_code_has(&s->own, frame))
			continue;
		wf_stacks_place_of(s->see, &s->objects, frame, &place);
		has_line = place.source != NULL;
		if (has_line)
			snprintf(ret_text, room, "%s:%d", place.source,
				 place.line);
		else if (!is_set)
			snprintf(ret_text, room, "%s", place.object);
		is_set = true;
		free(place.function);
	}
}

void wf_wait_stacks_print(struct wf_wait_stacks *s, const char *indent)
{
	for (uint32_t i = 0; i < s->stack.nr; i++) {
		char *text = wf_stacks_frame_text(s->see, &s->objects,
						  &s->stack.frames[i]);

		printf("%s%s\n", indent, text != NULL ? text : "?");
		free(text);
	}
}

void wf_wait_stacks_json(struct wf_wait_stacks *s)
{
	for (uint32_t i = 0; i < s->stack.nr; i++) {
		char *text = wf_stacks_frame_text(s->see, &s->objects,
						  &s->stack.frames[i]);

		printf("%s", i > 0 ? ", " : "");
		wf_see_json_string(text != NULL ? text : "?");
		free(text);
	}
}
