/* SPDX-License-Identifier: MIT */
/*
 * Circular doubly linked list, links inside the elements.
 *
 * The list head is an element of its own; an element that is in no list is
 * linked to itself, so that wf_list_del is harmless on it.
 */
#ifndef WEFT_BASE_LIST_H
#define WEFT_BASE_LIST_H

#include "base/compiler.h"

struct wf_list {
	struct wf_list *next, *prev;
};

static inline void wf_list_init(struct wf_list *l)
{
	l->next = l->prev = l;
}

static inline void wf_list_add_tail(struct wf_list *head, struct wf_list *e)
{
	e->next = head;
	e->prev = head->prev;
	head->prev->next = e;
	head->prev = e;
}

static inline void wf_list_del(struct wf_list *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
	wf_list_init(e);
}

#endif
