/* SPDX-License-Identifier: MIT */
/* In a build without libdw. */
#include <stdio.h>
#include <stdlib.h>

#include "wait_stacks.h"

struct wf_wait_stacks {
	char none;
};

struct wf_wait_stacks *wf_wait_stacks_new(const struct wf_see *see)
{
	(void)see;
	return calloc(1, sizeof(struct wf_wait_stacks));
}

void wf_wait_stacks_free(struct wf_wait_stacks *stacks)
{
	free(stacks);
}

bool wf_wait_stacks_read(struct wf_wait_stacks *stacks,
			 const struct wf_see_thread *thread)
{
	(void)stacks;
	(void)thread;
	return false;
}

void wf_wait_stacks_line(struct wf_wait_stacks *stacks, char *ret_text,
			 size_t room)
{
	(void)stacks;
	snprintf(ret_text, room, "?");
}

void wf_wait_stacks_print(struct wf_wait_stacks *stacks, const char *indent)
{
	(void)stacks;
	(void)indent;
}

void wf_wait_stacks_json(struct wf_wait_stacks *stacks)
{
	(void)stacks;
}
