/* SPDX-License-Identifier: MIT */
/* Stacks for programs: as JSON, and folded to a line each. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "see/json.h"
#include "stacks.h"

static const char *const ends[] = {
	[WF_SEE_END_WHOLE] = "whole", [WF_SEE_END_ROOM] = "more",
	[WF_SEE_END_LOST] = "lost",   [WF_SEE_END_TORN] = "changing",
	[WF_SEE_END_RUNS] = "runs",
};

static void json_threads(const struct wf_stack_group *g)
{
	printf("\"threads\": [");
	for (uint32_t i = 0; i < g->nr; i++) {
		printf("%s{\"tid\": %d, \"name\": ", i > 0 ? ", " : "",
		       g->threads[i]->tid);
		wf_see_json_string(g->threads[i]->name);
		printf(", \"startAddress\": \"0x%" PRIx64 "\"",
		       g->threads[i]->start);
		printf("}");
	}
	printf("]");
}

static void json_frame(const struct wf_see *see, struct wf_see_objects *objects,
		       const struct wf_see_frame *frame)
{
	struct wf_stack_place place;

	wf_stacks_place_of(see, objects, frame, &place);
	printf("{\"address\": \"0x%" PRIx64 "\", \"place\": ", frame->address);
	wf_see_json_string(place.object);
	if (place.function != NULL) {
		printf(", \"function\": ");
		wf_see_json_string(place.function);
		printf(", \"offset\": %" PRIu64, place.offset);
	}
	if (place.source != NULL) {
		printf(", \"source\": ");
		wf_see_json_string(place.source);
		printf(", \"line\": %d", place.line);
	}
	printf("%s}", frame->is_guess ? ", \"guess\": true" : "");
	free(place.function);
}

void wf_stacks_json(const struct wf_see *see, struct wf_see_objects *objects,
		    const struct wf_stack_group *groups, uint32_t nr)
{
	printf("{\"stackDump\": {\"processId\": %d, \"runtimeVersion\": "
	       "\"weft %s\",\n\"stacks\": [",
	       wf_see_pid(see), wf_see_version(see));
	for (uint32_t i = 0; i < nr; i++) {
		const struct wf_stack_group *g = &groups[i];

		printf("%s\n{\"state\": \"%s\", \"end\": \"%s\", ",
		       i > 0 ? "," : "", wf_see_state_name(g->state),
		       ends[g->end]);
		json_threads(g);
		printf(",\n \"frames\": [");
		for (uint32_t k = 0; k < g->nr_frames; k++) {
			printf("%s\n  ", k > 0 ? "," : "");
			json_frame(see, objects, &g->frames[k]);
		}
		printf("]}");
	}
	printf("]}}\n");
}

/* The outermost frame first. A semicolon ends a frame. */
static void fold_frame(const struct wf_see *see, struct wf_see_objects *objects,
		       const struct wf_see_frame *frame)
{
	struct wf_stack_place place;
	const char *name;

	wf_stacks_place_of(see, objects, frame, &place);
	name = place.function != NULL ? place.function : place.object;
	for (const char *c = name; *c != '\0'; c++)
		putchar(*c == ';' ? ':' : *c);
	free(place.function);
}

void wf_stacks_folded(const struct wf_see *see, struct wf_see_objects *objects,
		      const struct wf_stack_group *groups, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct wf_stack_group *g = &groups[i];

		for (uint32_t k = g->nr_frames; k-- > 0;) {
			fold_frame(see, objects, &g->frames[k]);
			printf("%s", k > 0 ? ";" : "");
		}
		if (g->nr_frames == 0)
			printf("[%s]", wf_see_state_name(g->state));
		printf(" %u\n", g->nr);
	}
}
