/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "see/text.h"
#include "stacks.h"

/* Threads of a group that are named. */
enum { MOST_NAMED = 8 };

static const char *const ends[] = {
	[WF_SEE_END_ROOM] = "and more frames",
	[WF_SEE_END_LOST] = "the rest of the stack is not known",
	[WF_SEE_END_TORN] = "the stack changed each time that it was read",
	[WF_SEE_END_RUNS] = "it runs, so its registers are not in memory",
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

/* Compilers and linkers append what the source does not have. */
static int name_length(const char *name)
{
	const char *end = strstr(name, ".lto_priv.");

	if (end == NULL)
		end = strchr(name, '@'); /* the symbol's version */
	return (int)(end != NULL && end != name ? (size_t)(end - name) :
						  strlen(name));
}

static void print_frame(const struct wf_see *see,
			struct wf_see_objects *objects,
			const struct wf_see_frame *frame)
{
	uint64_t address = frame->address - frame->is_call;
	struct wf_see_object *object = wf_see_object_at(objects, address);
	struct wf_see_symbol symbol = { 0 };
	char place[WF_SEE_TEXT];

	if (object != NULL)
		wf_see_symbol(object, address, &symbol);
	wf_see_place(see, frame->address, place, sizeof(place));
	printf("    %s", frame->is_guess ? "? " : "");
	if (symbol.name == NULL) {
		printf("%s\n", place);
		return;
	}
	printf("%.*s+0x%" PRIx64, name_length(symbol.name), symbol.name,
	       symbol.offset + frame->is_call);
	if (symbol.file != NULL) {
		const char *slash = strrchr(symbol.file, '/');

		printf(" at %s:%d", slash != NULL ? slash + 1 : symbol.file,
		       symbol.line);
	}
	printf(" (%s)\n", place);
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
