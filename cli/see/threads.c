/* SPDX-License-Identifier: MIT */
/*
 * Reads the table of threads while the process runs.
 *
 * THREADS-1. A row is made from a copy of the record and from what the record
 *     points to. Then the record is read again. If the two copies differ, the
 *     row is made anew, a few times. So a row belongs to one moment at which
 *     the thread was in this state.
 * THREADS-2. A count or an address that the process names is used only below
 *     the limits of threads.h, and each loop has a limit of its own.
 * THREADS-3. ctx.sp is NULL while a thread runs (SWITCH-5). So a record that
 *     names a wait and no sp belongs to a thread that is about to switch.
 */
#include "threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grow.h"

/* Readings of a record that changes each time, and records read at once. */
enum { TRIES = 8, CHUNK = 256 };

static const char *const state_names[WF_SEE_NR_STATES] = {
	[WF_SEE_RUNNING] = "running", [WF_SEE_RUNNABLE] = "runnable",
	[WF_SEE_PARKED] = "parked",   [WF_SEE_SYSTEM_CALL] = "system-call",
	[WF_SEE_NOT_STARTED] = "new", [WF_SEE_EXITING] = "exiting",
	[WF_SEE_EXITED] = "exited",   [WF_SEE_CHANGING] = "changing",
};

const char *wf_see_state_name(enum wf_see_state state)
{
	return state < WF_SEE_NR_STATES ? state_names[state] : "?";
}

static void decode(const struct wf_see_items *it, const char *copy,
		   struct wf_see_raw *ret_raw)
{
#define GET(name, field) \
	ret_raw->name = wf_see_get(&it->thread_##field, copy, it->thread_bytes)
	memset(ret_raw, 0, sizeof(*ret_raw));
	GET(tid, tid);
	GET(kind, kind);
	GET(retake, retake);
	GET(vp, vp);
	GET(carrier, carrier);
	GET(not_started, not_started);
	GET(exit_state, exit_state);
	GET(is_closed, is_closed);
	GET(rt_list, rt_list);
	GET(tcb, tcb);
	GET(start, start);
	if ((ret_raw->not_started & it->not_started_bit) == 0)
		GET(sp, sp); /* its place has control words until then */
	GET(wait_addr, wait_addr);
	if (ret_raw->wait_addr == 0)
		return; /* the rest has links of queues and old values */
	GET(was_moved, was_moved);
	GET(generation, generation);
	GET(since, since);
	GET(wait_kind, wait_kind);
	GET(timer_vp, timer_vp);
	GET(timer_index, timer_index);
#undef GET
}

static bool read_raw(const struct wf_see_reading *r, uint64_t record,
		     struct wf_see_raw *ret_raw)
{
	char copy[WF_SEE_MAX_RECORD];
	size_t bytes = r->items->thread_bytes;

	if (r->source->read(r->source, record, copy, bytes) != bytes)
		return false;
	decode(r->items, copy, ret_raw);
	return true;
}

/* The system call that a kernel thread is in, or -1. */
static long system_call_of(const struct wf_see_source *s, int tid)
{
	char path[64];
	long nr = -1;
	FILE *file;

	if (s->pid == 0 || tid <= 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", s->pid,
		 wf_see_outer_tid(s, tid));
	file = fopen(path, "re");
	if (file == NULL)
		return -1;
	if (fscanf(file, "%ld", &nr) != 1)
		nr = -1; /* "running" */
	fclose(file);
	return nr;
}

static void set_carrier(const struct wf_see_reading *r,
			const struct wf_see_raw *raw, struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;

	if (raw->carrier == 0)
		return;
	t->carrier_tid = (int)(int32_t)wf_see_peek(r->source, raw->carrier,
						   &it->carrier_tid);
	if (t->is_bound)
		t->bound_why = wf_see_word(it, "bound_why",
					   wf_see_peek(r->source, raw->carrier,
						       &it->carrier_bound_why));
}

/* The thread has no saved registers. False: between two states. */
static bool set_running(const struct wf_see_reading *r,
			const struct wf_see_raw *raw, struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;
	const char *retake = wf_see_word(it, "retake", raw->retake);
	bool has_vp = !t->is_bound && it->vp_bytes != 0 && raw->vp >= r->vps &&
		      raw->vp < wf_see_vp_at(r, r->nr_vps) &&
		      wf_see_peek(r->source, raw->vp, &it->vp_cur) == t->record;
	bool is_taken = retake != NULL && strcmp(retake, "taken") == 0;

	if (!t->is_bound && !has_vp && !is_taken)
		return false;
	set_carrier(r, raw, t);
	if (has_vp && !is_taken)
		t->vp = (int)((raw->vp - r->vps) / it->vp_bytes);
	t->system_call = system_call_of(r->source, t->carrier_tid);
	t->state = t->system_call >= 0 || is_taken ? WF_SEE_SYSTEM_CALL :
						     WF_SEE_RUNNING;
	if (raw->is_closed != 0)
		t->state = WF_SEE_EXITING;
	return true;
}

static void set_queue(const struct wf_see_reading *r,
		      const struct wf_see_raw *raw, struct wf_see_thread *t)
{
	uint16_t place;

	if (r->places == NULL)
		return;
	place = r->places[t->index];
	t->queue = raw->rt_list != 0 ? "real-time" : wf_see_place_name(place);
	t->queue_vp = raw->rt_list != 0 ? -1 : wf_see_place_vp(place);
}

/* False: between two states. */
static bool set_state(const struct wf_see_reading *r,
		      const struct wf_see_raw *raw, struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;

	if ((raw->exit_state & it->exit_state_done) != 0) {
		t->state = WF_SEE_EXITED;
		return true;
	}
	if ((raw->not_started & it->not_started_bit) != 0) {
		t->state = WF_SEE_NOT_STARTED;
		t->registers_from = WF_SEE_REGISTERS_ENTRY;
		set_queue(r, raw, t);
		return true;
	}
	if (raw->wait_addr != 0 && (raw->sp != 0 || t->is_bound)) {
		t->state = WF_SEE_PARKED;
		t->wait_kind = wf_see_word(it, "wait_kind", raw->wait_kind);
		if (t->wait_kind == NULL)
			return false;
		t->wait_addr = raw->wait_addr;
		t->wait_generation = raw->generation;
		if (t->is_bound)
			set_carrier(r, raw, t);
		wf_see_wait_read(r, raw, t);
		return true;
	}
	if (raw->sp == 0)
		return raw->wait_addr == 0 && set_running(r, raw, t);
	t->state = t->registers_from == WF_SEE_REGISTERS_ENTRY ?
			   WF_SEE_NOT_STARTED :
			   WF_SEE_RUNNABLE;
	if (t->is_bound)
		set_carrier(r, raw, t);
	else
		set_queue(r, raw, t);
	return true;
}

static void set_constants(const struct wf_see_reading *r, const char *copy,
			  struct wf_see_thread *t)
{
	const struct wf_see_items *it = r->items;
	const struct wf_see_field *name = &it->thread_name;
	size_t n = name->bytes < 16 ? name->bytes : 16;

	if (name->offset <= it->thread_bytes &&
	    n <= it->thread_bytes - name->offset)
		memcpy(t->name, copy + name->offset, n);
	for (char *c = t->name; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	t->start_arg =
		wf_see_get(&it->thread_start_arg, copy, it->thread_bytes);
	t->is_first =
		wf_see_get(&it->thread_is_first, copy, it->thread_bytes) != 0;
}

/* A row of what the copy says. False: it is to be read again. */
static bool make_row(const struct wf_see_reading *r, const char *copy,
		     const struct wf_see_raw *raw, struct wf_see_thread *t)
{
	const char *kind = wf_see_word(r->items, "thread_kind", raw->kind);
	uint64_t record = t->record;
	uint32_t index = t->index;
	struct wf_see_raw again;

	*t = (struct wf_see_thread){ .record = record,
				     .index = index,
				     .tid = (int)(int32_t)raw->tid,
				     .pthread = raw->tcb,
				     .start = raw->start,
				     .vp = -1,
				     .queue_vp = -1,
				     .system_call = -1,
				     .operation_call = -1,
				     .fd = -1,
				     .owner = WF_SEE_NO_THREAD };
	if (kind == NULL)
		return false;
	t->is_bound = strcmp(kind, "multiplexed") != 0;
	set_constants(r, copy, t);
	wf_see_registers_read(r, raw->sp, t);
	if (!set_state(r, raw, t))
		return false;
	if (r->source->pid == 0)
		return true;		      /* a core does not change */
	return read_raw(r, record, &again) && /* THREADS-1 */
	       memcmp(raw, &again, sizeof(again)) == 0;
}

/* Returns false if the record is free. */
static bool read_row(const struct wf_see_reading *r, char *copy,
		     struct wf_see_thread *t)
{
	size_t bytes = r->items->thread_bytes;
	struct wf_see_raw raw;

	for (int i = 0; i < TRIES; i++) {
		if (i > 0 &&
		    r->source->read(r->source, t->record, copy, bytes) != bytes)
			return false;
		decode(r->items, copy, &raw);
		if ((int32_t)raw.tid <= 0)
			return false;
		if (make_row(r, copy, &raw, t))
			return true;
	}
	t->state = WF_SEE_CHANGING;
	t->wait_kind = NULL;
	t->registers_from = WF_SEE_REGISTERS_NONE;
	return true;
}

bool wf_see_thread_again(const struct wf_see_reading *r,
			 struct wf_see_thread *t)
{
	char copy[WF_SEE_MAX_RECORD];
	size_t bytes = r->items->thread_bytes;
	int tid = t->tid;

	return r->source->read(r->source, t->record, copy, bytes) == bytes &&
	       read_row(r, copy, t) && t->tid == tid;
}

static int append(struct wf_see_table *table, const struct wf_see_thread *t)
{
	void *more = wf_see_grow(table->threads, table->nr, sizeof(*t));

	if (more == NULL)
		return -ENOMEM;
	table->threads = more;
	table->threads[table->nr++] = *t;
	return 0;
}

static int read_rows(const struct wf_see_reading *r, struct wf_see_table *table)
{
	size_t bytes = r->items->thread_bytes;
	char *copy = malloc(CHUNK * bytes);
	int err = copy != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < r->nr && err == 0; i += CHUNK) {
		uint32_t nr = r->nr - i < CHUNK ? r->nr - i : CHUNK;
		uint64_t first = r->records + i * bytes;
		size_t got =
			r->source->read(r->source, first, copy, nr * bytes);

		for (uint32_t k = 0; k < got / bytes && err == 0; k++) {
			struct wf_see_thread t = { .record = first + k * bytes,
						   .index = i + k };

			if (read_row(r, copy + k * bytes, &t))
				err = append(table, &t);
		}
	}
	free(copy);
	return err;
}

static int by_tid(const void *a, const void *b)
{
	const struct wf_see_thread *const *x = a, *const *y = b;

	return (*x)->tid < (*y)->tid ? -1 : (*x)->tid > (*y)->tid;
}

/* Owners by number in the table. */
static int link_owners(struct wf_see_table *table)
{
	struct wf_see_thread **sorted =
		malloc((table->nr + 1) * sizeof(*sorted));

	if (sorted == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->nr; i++)
		sorted[i] = &table->threads[i];
	qsort(sorted, table->nr, sizeof(*sorted), by_tid);
	for (uint32_t i = 0; i < table->nr; i++) {
		struct wf_see_thread *t = &table->threads[i];
		const struct wf_see_thread key = { .tid = t->owner_tid },
					   *const at = &key;
		struct wf_see_thread **owner = NULL;

		if (t->wait_kind != NULL && t->owner_tid > 0)
			owner = bsearch(&at, sorted, table->nr, sizeof(*sorted),
					by_tid);
		if (owner != NULL)
			t->owner = (uint32_t)(*owner - table->threads);
	}
	free(sorted);
	return 0;
}

static int64_t now(const struct wf_see_reading *r)
{
	const struct wf_see_items *it = r->items;
	struct timespec ts;

	if (r->source->pid == 0)
		return (int64_t)(uint32_t)wf_see_peek(r->source, it->sched,
						      &it->sched_monitor_ms) *
		       WF_SEE_NS_PER_MS;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int wf_see_begin(const struct wf_see *see, struct wf_see_reading *r)
{
	const struct wf_see_items *it = &see->items;
	const struct wf_see_field pointer = { 0, 8 }, word = { 0, 4 };
	uint64_t used, nr_vps;

	*r = (struct wf_see_reading){ .source = see->source, .items = it };
	if (wf_see_peek(r->source, it->sched, &it->sched_is_started) == 0)
		return WF_SEE_NO_THREADS;
	used = wf_see_peek(r->source, it->table_used, &word);
	nr_vps = wf_see_peek(r->source, it->sched, &it->sched_nr_vps);
	r->records = wf_see_peek(r->source, it->table, &pointer);
	r->vps = wf_see_peek(r->source, it->sched, &it->sched_vps);
	if (used > WF_SEE_MAX_THREADS || nr_vps > WF_SEE_MAX_VPS ||
	    it->thread_bytes < 64 || it->thread_bytes > WF_SEE_MAX_RECORD ||
	    it->frame_bytes > WF_SEE_MAX_RECORD || it->vp_bytes > 1 << 24 ||
	    it->timer_bytes > WF_SEE_MAX_RECORD || r->records == 0)
		return WF_SEE_BROKEN;
	r->nr = (uint32_t)used;
	r->nr_vps = (uint32_t)nr_vps;
	r->now_ns = now(r);
	return 0;
}

int wf_see_threads(const struct wf_see *see, struct wf_see_table *ret_table)
{
	struct wf_see_reading r;
	int err = wf_see_begin(see, &r);

	*ret_table = (struct wf_see_table){ 0 };
	if (err < 0)
		return err;
	r.places = calloc(r.nr + 1, sizeof(*r.places));
	if (r.places == NULL)
		return -ENOMEM;
	ret_table->nr_vps = r.nr_vps;
	wf_see_queues_read(&r);
	err = read_rows(&r, ret_table);
	ret_table->now_ns = now(&r); /* after the begin of each wait */
	if (err == 0)
		err = link_owners(ret_table);
	free(r.places);
	if (err < 0)
		wf_see_table_free(ret_table);
	return err;
}

void wf_see_table_free(struct wf_see_table *table)
{
	free(table->threads);
	*table = (struct wf_see_table){ 0 };
}

const struct wf_see_thread *wf_see_thread_of(const struct wf_see_table *table,
					     int tid)
{
	for (uint32_t i = 0; i < table->nr; i++)
		if (table->threads[i].tid == tid)
			return &table->threads[i];
	for (uint32_t i = 0; i < table->nr; i++)
		if (table->threads[i].carrier_tid == tid)
			return &table->threads[i];
	return NULL;
}

bool wf_see_still_waits(const struct wf_see_reading *r,
			const struct wf_see_thread *thread)
{
	struct wf_see_raw raw;

	return wf_see_wait_owner(r, thread) == thread->owner_tid &&
	       read_raw(r, thread->record, &raw) &&
	       raw.wait_addr == thread->wait_addr &&
	       raw.generation == thread->wait_generation &&
	       (int32_t)raw.tid == thread->tid;
}
