/* SPDX-License-Identifier: MIT */
/*
 * The requests that a ring has in flight, in a table. A request's id is its row
 * and how often the row was used. So a late completion of a request that was
 * given up does not hit the request that has the row by then. Only the owner of
 * the VP calls these.
 *
 *     uint64_t id = wf_in_flight_add(u, r, by);
 *     ...                 the kernel reports that id is done
 *     r = wf_in_flight_take(u, id);
 */
#ifndef WEFT_IO_FILE_IN_FLIGHT_H
#define WEFT_IO_FILE_IN_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct wf_request;

struct wf_in_flight_row {
	struct wf_request *r; /* NULL: the row is free */
	uint32_t use;
	/* The number of the carrier that hands the request over, or
	 * WF_IN_FLIGHT_UNKNOWN. Of a free row: the next free row, or 0. */
	uint32_t by;
};

/* Stands for a carrier that is not known. */
#define WF_IN_FLIGHT_UNKNOWN UINT32_MAX

struct wf_in_flight {
	struct wf_in_flight_row *rows; /* row 0 is WF_RING_WAKE's */
	uint32_t nr_rows;
	uint32_t first_free; /* of the freed rows; 0: none */
	uint32_t nr_used;    /* rows 1 to this have been in use */
};

static inline size_t wf_in_flight_bytes(const struct wf_in_flight *u)
{
	return u->nr_rows * sizeof(*u->rows);
}

static inline uint64_t wf_in_flight_id(const struct wf_in_flight *u, uint32_t i)
{
	return (uint64_t)u->rows[i].use << 32 | i;
}

/*
 * Adds r, which the carrier with the number `by` hands over. Returns its id.
 * The caller makes sure that fewer than nr_rows - 1 requests are in flight.
 */
static inline uint64_t wf_in_flight_add(struct wf_in_flight *u,
					struct wf_request *r, uint32_t by)
{
	uint32_t i = u->first_free;

	if (i != 0)
		u->first_free = u->rows[i].by;
	else
		i = ++u->nr_used;
	u->rows[i].r = r;
	u->rows[i].by = by;
	return wf_in_flight_id(u, i);
}

/* Removes the request; NULL: the request of this id has been given up. */
static inline struct wf_request *wf_in_flight_take(struct wf_in_flight *u,
						   uint64_t id)
{
	uint32_t i = (uint32_t)id;
	struct wf_in_flight_row *row = &u->rows[i];
	struct wf_request *r = row->r;

	if (WF_UNLIKELY(row->use != id >> 32))
		return NULL;
	row->r = NULL;
	row->use++;
	row->by = u->first_free;
	u->first_free = i;
	return r;
}

/*
 * Gives the request in row i a new id. Its old id is from now on that of a
 * request that has been given up.
 */
static inline uint64_t wf_in_flight_renew(struct wf_in_flight *u, uint32_t i,
					  uint32_t by)
{
	u->rows[i].use++;
	u->rows[i].by = by;
	return wf_in_flight_id(u, i);
}

#endif
