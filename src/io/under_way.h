/*
 * The requests that a ring has under way, by number. A number is used again
 * with another use, so what the kernel says of a request that has been given up
 * is told from what it says of the one in its place. Owner of the VP only.
 *
 *     uint64_t id = wf_under_way_add(u, r, by);
 *     ... the kernel says that id is done ...
 *     r = wf_under_way_take(u, id);
 */
#ifndef WEFT_IO_UNDER_WAY_H
#define WEFT_IO_UNDER_WAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct wf_request;

struct wf_under_way_row {
	struct wf_request *r; /* NULL: the number is free */
	uint32_t use;
	/* The carrier that hands it over (its number), or WF_UNDER_WAY_NOBODY;
	 * of a free one: the next free number, or 0. */
	uint32_t by;
};

/* Not one of this VP's carriers, or nobody knows which. */
#define WF_UNDER_WAY_NOBODY UINT32_MAX

struct wf_under_way {
	struct wf_under_way_row *rows; /* 0 is no request's */
	uint32_t nr_rows;
	uint32_t first_free; /* or 0 */
	uint32_t nr_used;    /* numbers 1 to this have been in use */
};

static inline size_t wf_under_way_bytes(const struct wf_under_way *u)
{
	return u->nr_rows * sizeof(*u->rows);
}

static inline uint64_t wf_under_way_id(const struct wf_under_way *u, uint32_t i)
{
	return (uint64_t)u->rows[i].use << 32 | i;
}

/* There is room: fewer than nr_rows - 1 are under way. */
static inline uint64_t wf_under_way_add(struct wf_under_way *u,
					struct wf_request *r, uint32_t by)
{
	uint32_t i = u->first_free;

	if (i != 0)
		u->first_free = u->rows[i].by;
	else
		i = ++u->nr_used;
	u->rows[i].r = r;
	u->rows[i].by = by;
	return wf_under_way_id(u, i);
}

/* NULL: that one has been given up. */
static inline struct wf_request *wf_under_way_take(struct wf_under_way *u,
						   uint64_t id)
{
	uint32_t i = (uint32_t)id;
	struct wf_under_way_row *row = &u->rows[i];
	struct wf_request *r = row->r;

	if (WF_UNLIKELY(row->use != id >> 32))
		return NULL;
	row->r = NULL;
	row->use++;
	row->by = u->first_free;
	u->first_free = i;
	return r;
}

/* Its id until now is that of a request that has been given up. */
static inline uint64_t wf_under_way_renew(struct wf_under_way *u, uint32_t i,
					  uint32_t by)
{
	u->rows[i].use++;
	u->rows[i].by = by;
	return wf_under_way_id(u, i);
}

#endif
