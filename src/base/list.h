/* SPDX-License-Identifier: MIT */
/*
 * Circular doubly linked list with the links inside the elements.
 *
 *     wf_list_init(&head);
 *     wf_list_add_tail(&head, &element->link);
 *     wf_list_del(&element->link);
 *
 * The head is a link in no element. An element in no list is linked to itself,
 * so wf_list_del of it does nothing.
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
