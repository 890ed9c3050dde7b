/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "see/demangle.h"
#include "stacks.h"

/* Threads of a group that are named. */
enum { MOST_NAMED = 8 };

static const char *const ends[] = {
	[WF_SEE_END_ROOM] = "and more frames",
	[WF_SEE_END_LOST] = "the rest of the stack is not known",
	[WF_SEE_END_TORN] = "the stack changed each time that it was read",
	[WF_SEE_END_RUNS] = "it runs, and was not stopped",
};

static void print_threads(const struct wf_stack_group *g)
{
	printf("%u thread%s, %s:", g->nr, g->nr == 1 ? "" : "s",
	       wf_see_state_name(g->state));
	for (uint32_t i = 0; i < g->nr && i < MOST_NAMED; i++) {
		const struct wf_see_thread *t = g->threads[i];

		printf("%s %d", i > 0 ? "," : "", t->tid);
		if (t->name[0] != '\0')
			printf(" (%s)", t->name);
	}
	if (g->nr > MOST_NAMED)
		printf(", and %u more", g->nr - MOST_NAMED);
	putchar('\n');
}

void wf_stacks_place_of(const struct wf_see *see,
			struct wf_see_objects *objects,
			const struct wf_see_frame *frame,
			struct wf_stack_place *ret_place)
{
	uint64_t address = frame->address - frame->is_call;
	struct wf_see_object *object = wf_see_object_at(objects, address);
	struct wf_see_symbol symbol = { 0 };
	const char *slash;

	if (object != NULL)
		wf_see_symbol(object, address, &symbol);
	*ret_place = (struct wf_stack_place){
		.offset = symbol.offset + frame->is_call,
		.source = symbol.file,
		.line = symbol.line,
	};
	if (symbol.name != NULL)
		ret_place->function = wf_see_demangle(symbol.name);
	wf_see_place(see, frame->address, ret_place->object,
		     sizeof(ret_place->object));
	slash = symbol.file != NULL ? strrchr(symbol.file, '/') : NULL;
	if (slash != NULL)
		ret_place->source = slash + 1;
}

char *wf_stacks_frame_text(const struct wf_see *see,
			   struct wf_see_objects *objects,
			   const struct wf_see_frame *frame)
{
	const char *guess = frame->is_guess ? "? " : "";
	struct wf_stack_place place;
	char offset[32] = "", line[WF_SEE_TEXT] = "", *text;
	int n;

	wf_stacks_place_of(see, objects, frame, &place);
	if (place.offset != 0)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, place.offset);
	if (place.offset != 0 && place.source != NULL)
		snprintf(line, sizeof(line), " at %s:%d", place.source,
			 place.line);
	if (place.function != NULL)
		n = asprintf(&text, "%s%s%s%s (%s)", guess, place.function,
			     offset, line, place.object);
	else
		n = asprintf(&text, "%s%s", guess, place.object);
	free(place.function);
	return n < 0 ? NULL : text;
}

static void print_frame(const struct wf_see *see,
			struct wf_see_objects *objects,
			const struct wf_see_frame *frame)
{
	char *text = wf_stacks_frame_text(see, objects, frame);

	printf("    %s\n", text != NULL ? text : "?");
	free(text);
}

void wf_stacks_print(const struct wf_see *see, struct wf_see_objects *objects,
		     const struct wf_stack_group *groups, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct wf_stack_group *g = &groups[i];

		if (i > 0)
			putchar('\n');
		print_threads(g);
		for (uint32_t k = 0; k < g->nr_frames; k++)
			print_frame(see, objects, &g->frames[k]);
		if (g->end != WF_SEE_END_WHOLE)
			printf("    (%s)\n", ends[g->end]);
	}
}
