/* SPDX-License-Identifier: MIT */
/*
 * Reads the objects for which threads wait. They lie in the program's memory,
 * which may be gone or changed at any time: a field that cannot be read is 0.
 */
#include <string.h>

#include "threads.h"

static uint64_t peek(const struct wf_see_reading *r, uint64_t address,
		     const struct wf_see_field *field)
{
	return wf_see_peek(r->source, address, field);
}

static bool is(const struct wf_see_thread *t, const char *kind)
{
	return strcmp(t->wait_kind, kind) == 0;
}

/* The object of which the thread waits for this field. */
static uint64_t object_of(const struct wf_see_thread *t,
			  const struct wf_see_field *field)
{
	return t->wait_addr - field->offset;
}

static void read_condition(const struct wf_see_reading *r,
			   struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;

	if (t->was_moved) { /* it was woken, and now waits for the mutex */
		t->object = t->mutex = object_of(t, &it->mutex_word);
		return;
	}
	t->object = object_of(t, &it->cond_seq);
	t->mutex = peek(r, t->object, &it->cond_mutex);
}

static void read_barrier(const struct wf_see_reading *r,
			 struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;

	t->object = object_of(t, &it->barrier_round);
	t->arrived = (uint32_t)peek(r, t->object, &it->barrier_arrived);
	t->count = (uint32_t)peek(r, t->object, &it->barrier_count);
}

/*
 * The first request says it for all: a thread that polls several descriptors
 * has one for each.
 */
static void read_request(const struct wf_see_reading *r,
			 struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;
	uint64_t wait = object_of(t, &it->requests_nr_done);
	uint64_t request = peek(r, wait, &it->requests_first), call;

	t->object = request;
	t->count = (uint32_t)peek(r, wait, &it->requests_nr);
	if (t->count == 0 || request == 0) {
		t->operation = "poll"; /* of no descriptor */
		return;
	}
	t->operation =
		wf_see_word(it, "io_op", peek(r, request, &it->request_op));
	t->backend = peek(r, request, &it->request_io) != 0 ? "uring" :
							      "workers";
	if (t->operation == NULL || strcmp(t->operation, "call") != 0) {
		t->fd = (int)(int32_t)peek(r, request, &it->request_fd);
		return;
	}
	call = peek(r, request, &it->request_addr);
	t->operation_call = (long)peek(r, call, &it->call_nr);
}

static void read_signals(const struct wf_see_reading *r,
			 struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;

	t->signals = peek(r, t->record, &it->thread_is_suspended) != 0 ?
			     ~peek(r, t->record, &it->thread_sigmask) :
			     peek(r, t->record, &it->thread_sigwait);
}

/* The deadline of the thread's entry in a heap of timers, or 0. */
static int64_t deadline(const struct wf_see_reading *r,
			const struct wf_see_raw *raw, uint64_t record)
{
	const struct wf_see_items *it = r->items;
	uint64_t timers, entry, entries;
	int64_t key;

	if (raw->timer_index == 0 || raw->timer_vp >= r->nr_vps)
		return 0;
	timers = peek(r, wf_see_vp_at(r, raw->timer_vp), &it->vp_timers);
	entries = peek(r, timers, &it->timers_entries);
	entry = entries + raw->timer_index * it->timer_bytes;
	if (peek(r, entry, &it->timer_item) != record)
		return 0;
	key = (int64_t)peek(r, entry, &it->timer_key);
	return key > 0 ? key : 0;
}

/* The wait's begin. The value has the low 32 bits of the clock, in ms. */
static int64_t begin(const struct wf_see_reading *r,
		     const struct wf_see_raw *raw)
{
	uint64_t now = (uint64_t)r->now_ns / WF_SEE_NS_PER_MS;
	uint32_t age = (uint32_t)(now - raw->since);

	if (age > UINT32_MAX - 1000)
		age = 0; /* it began after r->now_ns */
	if (raw->since == 0 || age > now)
		return 0;
	return (int64_t)(now - age) * WF_SEE_NS_PER_MS;
}

void wf_see_wait_read(const struct wf_see_reading *r,
		      const struct wf_see_raw *raw, struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;

	t->object = t->wait_addr;
	t->was_moved = raw->was_moved != 0 && is(t, "condition");
	t->until_ns = deadline(r, raw, t->record);
	t->since_ns = begin(r, raw);
	if (is(t, "mutex"))
		t->object = object_of(t, &it->mutex_word);
	else if (is(t, "priority_mutex"))
		t->object = peek(r, object_of(t, &it->boost_is_granted),
				 &it->boost_mutex);
	else if (is(t, "condition"))
		read_condition(r, t);
	else if (is(t, "condition_destroy"))
		t->object = object_of(t, &it->cond_waiters);
	else if (is(t, "semaphore"))
		t->object = object_of(t, &it->sem_word);
	else if (is(t, "rwlock_read") || is(t, "rwlock_write"))
		t->object = object_of(t, &it->rwlock_word);
	else if (is(t, "barrier"))
		read_barrier(r, t);
	else if (is(t, "barrier_destroy"))
		t->object = object_of(t, &it->barrier_left);
	else if (is(t, "join"))
		t->object = object_of(t, &it->thread_exit_state);
	else if (is(t, "io"))
		read_request(r, t);
	else if (is(t, "signal"))
		read_signals(r, t);
	t->owner_tid = wf_see_wait_owner(r, t);
}

static int mutex_owner(const struct wf_see_reading *r, uint64_t mutex)
{
	const struct wf_see_items *it = r->items;
	uint64_t kind = peek(r, mutex, &it->mutex_kind);

	if ((kind & it->mutex_inherit) != 0)
		return (int)(peek(r, mutex, &it->mutex_word) &
			     it->mutex_tid_mask);
	return (int)peek(r, mutex, &it->mutex_owner);
}

int wf_see_wait_owner(const struct wf_see_reading *r,
		      const struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;

	if (is(t, "mutex") || is(t, "priority_mutex") || t->was_moved)
		return mutex_owner(r, t->object);
	if (is(t, "rwlock_read") || is(t, "rwlock_write"))
		return (int)((peek(r, t->object, &it->rwlock_word) &
			      it->rwlock_has_writer) != 0 ?
				     peek(r, t->object, &it->rwlock_writer) :
				     0);
	if (is(t, "join"))
		return (int)(int32_t)peek(r, t->object, &it->thread_tid);
	return 0;
}
