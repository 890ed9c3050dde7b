/* SPDX-License-Identifier: MIT */
/*
 * The functions that programs and tools call: MPI_Send, PMPI_Send and so on.
 * The library comes before the MPI library and before tools that are linked to
 * the program. A tool counts or times the program's own calls: it defines
 * MPI_Send and calls PMPI_Send. So MPI_Send here calls the tool's, if there is
 * one, and PMPI_Send does the work.
 *
 * CALLS-1. A call that MPI makes itself goes to the MPI library unchanged. Its
 *     parallel I/O calls PMPI_Allreduce, and a callback may run on the poller,
 *     which must not wait for itself.
 * CALLS-2. A blocking collective call does not match a non-blocking one. So all
 *     ranks replace the same calls: which row is used depends on the function
 *     alone, never on the time or the arguments.
 *
 * Rejected: to compile this file against the mpi.h of each MPI library. Both
 * would have to be installed to build weft, and the types only serve to pass
 * arguments on.
 */
#include "mpi/calls.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/mpi.h"

enum kind {
	FORM,
	STATUS,
	TEST,
	COUNT,
	SENDRECV,
	REPLACE,
	START,
	FINISH,
	BOUND
};

struct row {
	const char *name; /* PMPI_..., so the name of a tool's is at +1 */
	const char *other_name;
	int nr_args;
	enum kind kind;
	int extra_at;
	bool has_large_counts;
	/* Found at the first call; writers store the same values. */
	_Atomic(wf_mpi_fn) real, other, tool;
};

/* In row.tool: no tool has this function. */
#define NO_TOOL ((wf_mpi_fn)1)

enum {
#define INDEX(name, ...) CALL_##name,
#define INDEX_C(name, ...) CALL_##name, CALL_##name##_c,
	WF_MPI_CALLS(INDEX, INDEX_C)
};

static struct row rows[] = {
#define ROW(n, nr, k, o, at)        \
	{ .name = "PMPI_" #n,       \
	  .other_name = "PMPI_" #o, \
	  .nr_args = nr,            \
	  .kind = k,                \
	  .extra_at = at },
#define ROW_C(n, nr, k, o, at)                               \
	ROW(n, nr, k, o, at){ .name = "PMPI_" #n "_c",       \
			      .other_name = "PMPI_" #o "_c", \
			      .nr_args = nr,                 \
			      .kind = k,                     \
			      .extra_at = at,                \
			      .has_large_counts = true },
	WF_MPI_CALLS(ROW, ROW_C)
};

/* CALLS-1. */
static __thread bool is_inside;

static int apply(wf_mpi_fn fn, const wf_mpi_word *a)
{
	return fn(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
		  a[10], a[11]);
}

int wf_mpi_call(wf_mpi_fn fn, const wf_mpi_word *args)
{
	bool was_inside = is_inside;
	int rc;

	is_inside = true;
	rc = apply(fn, args);
	is_inside = was_inside;
	return rc;
}

static wf_mpi_fn find(_Atomic(wf_mpi_fn) *place, const char *name)
{
	wf_mpi_fn fn = atomic_load_explicit(place, memory_order_relaxed);

	if (fn == NULL) {
		fn = wf_mpi_library_find(name);
		atomic_store_explicit(place, fn, memory_order_relaxed);
	}
	return fn;
}

/* The communicator is that of the call, or NULL if the call has none. */
static int wait_for_request(wf_mpi_word *request, wf_mpi_word status,
			    const wf_mpi_word *comm)
{
	struct row *r = &rows[CALL_Wait];
	struct wf_mpi_wait w = {
		.test = find(&r->other, r->other_name),
		.args = { (wf_mpi_word)request, (wf_mpi_word)&w.own_flag,
			  status },
		.flag = &w.own_flag,
		.keeps_error = comm != NULL,
	};

	wf_mpi_poller_wait(&w);
	if (w.rc != 0 && comm != NULL)
		wf_mpi_errors_raise(&w, *comm);
	return w.rc;
}

static wf_mpi_word no_status(void)
{
	return wf_mpi_library()->status_ignore;
}

/* Of a row FORM or STATUS. MPI_Mrecv has a message in its place. */
static const wf_mpi_word *comm_of(const struct row *r, const wf_mpi_word *args)
{
	if (r == &rows[CALL_Mrecv] || r == &rows[CALL_Mrecv_c])
		return NULL;
	return &args[r->nr_args - (r->kind == STATUS ? 2 : 1)];
}

/* The request is the argument of the non-blocking form behind all others. */
static int run_form(struct row *r, const wf_mpi_word *args, wf_mpi_word status)
{
	wf_mpi_word a[WF_MPI_ARGS], request = 0;
	int rc;

	memcpy(a, args, sizeof(a));
	a[r->extra_at] = (wf_mpi_word)&request;
	rc = wf_mpi_call(find(&r->other, r->other_name), a);
	return rc != 0 ? rc :
			 wait_for_request(&request, status, comm_of(r, args));
}

static int run_test(struct row *r, const wf_mpi_word *args)
{
	struct wf_mpi_wait w = { .test = find(&r->other, r->other_name) };
	size_t before = (size_t)r->extra_at;

	memcpy(w.args, args, before * sizeof(*args));
	if (r->kind == COUNT) {
		memcpy(w.args, args, sizeof(w.args));
		w.flag = (const int *)args[before];
	} else {
		memcpy(w.args + before + 1, args + before,
		       (WF_MPI_ARGS - before - 1) * sizeof(*args));
		w.args[before] = (wf_mpi_word)&w.own_flag;
		w.flag = &w.own_flag;
	}
	return wf_mpi_poller_wait(&w);
}

/*
 * Waits for the receive first: of two errors the caller gets the receive's.
 * Both are waited for: the requests lie in the caller's frame.
 */
static int wait_for_both(wf_mpi_word *receive, wf_mpi_word *send,
			 wf_mpi_word status, const wf_mpi_word *comm)
{
	int received = wait_for_request(receive, status, comm);
	int sent = wait_for_request(send, no_status(), comm);

	return received != 0 ? received : sent;
}

/* A send failed to start: takes the receive back. */
static int give_up(wf_mpi_word *receive, int rc)
{
	WF_MPI_DO("Cancel", (wf_mpi_word)receive);
	wait_for_request(receive, no_status(), NULL);
	return rc;
}

static int run_sendrecv(struct row *r, const wf_mpi_word *a)
{
	struct row *sender =
		&rows[r->has_large_counts ? CALL_Send_c : CALL_Send];
	wf_mpi_word receive = 0, send = 0;
	int rc;

	rc = wf_mpi_call(find(&r->other, r->other_name),
			 (const wf_mpi_word[WF_MPI_ARGS]){
				 a[5], a[6], a[7], a[8], a[9], a[10],
				 (wf_mpi_word)&receive });
	if (rc != 0)
		return rc;
	rc = wf_mpi_call(
		find(&sender->other, sender->other_name),
		(const wf_mpi_word[WF_MPI_ARGS]){ a[0], a[1], a[2], a[3], a[4],
						  a[10], (wf_mpi_word)&send });
	return rc != 0 ? give_up(&receive, rc) :
			 wait_for_both(&receive, &send, a[11], &a[10]);
}

/* Sends the packed bytes and receives into the caller's buffer. */
static int exchange(struct row *r, const wf_mpi_word *a, wf_mpi_word packed,
		    wf_mpi_word size)
{
	wf_mpi_word receive = 0, send = 0;
	int rc;

	rc = wf_mpi_call(find(&r->other, r->other_name),
			 (const wf_mpi_word[WF_MPI_ARGS]){
				 a[0], a[1], a[2], a[5], a[6], a[7],
				 (wf_mpi_word)&receive });
	if (rc != 0)
		return rc;
	rc = wf_mpi_call(wf_mpi_library_find(r->has_large_counts ?
						     "PMPI_Isend_c" :
						     "PMPI_Isend"),
			 (const wf_mpi_word[WF_MPI_ARGS]){
				 packed, size, wf_mpi_library()->packed, a[3],
				 a[4], a[7], (wf_mpi_word)&send });
	return rc != 0 ? give_up(&receive, rc) :
			 wait_for_both(&receive, &send, a[8], &a[7]);
}

/*
 * The message is packed, as the receive overwrites its buffer. The counts are
 * written as int or as MPI_Count, of 8 bytes; a word of 0 takes either.
 */
static int run_replace(struct row *r, const wf_mpi_word *a)
{
	bool large = r->has_large_counts;
	wf_mpi_word size = 0, position = 0;
	void *packed;
	int rc;

	rc = wf_mpi_call(wf_mpi_library_find(large ? "PMPI_Pack_size_c" :
						     "PMPI_Pack_size"),
			 (const wf_mpi_word[WF_MPI_ARGS]){
				 a[1], a[2], a[7], (wf_mpi_word)&size });
	if (rc != 0)
		return rc;
	packed = malloc((size_t)size + 1);
	if (packed == NULL)
		return wf_mpi_call(find(&r->real, r->name), a);
	rc = wf_mpi_call(wf_mpi_library_find(large ? "PMPI_Pack_c" :
						     "PMPI_Pack"),
			 (const wf_mpi_word[WF_MPI_ARGS]){
				 a[0], a[1], a[2], (wf_mpi_word)packed, size,
				 (wf_mpi_word)&position, a[7] });
	if (rc == 0)
		rc = exchange(r, a, (wf_mpi_word)packed, position);
	free(packed);
	return rc;
}

static int run(struct row *r, const wf_mpi_word *a)
{
	wf_mpi_fn real = find(&r->real, r->name);

	if (r->kind == START)
		return wf_mpi_start(real, a);
	if (is_inside ||
	    !atomic_load_explicit(&wf_mpi_is_active, memory_order_acquire))
		return apply(real, a); /* CALLS-1 */
	switch (r->kind) {
	case FORM:
		return run_form(r, a, no_status());
	case STATUS:
		return run_form(r, a, a[r->nr_args - 1]);
	case TEST:
	case COUNT:
		return run_test(r, a);
	case SENDRECV:
		return run_sendrecv(r, a);
	case REPLACE:
		return run_replace(r, a);
	case FINISH:
		return wf_mpi_finish(real, a);
	default:
		return wf_mpi_bound_call(real, a);
	}
}

/* An MPI_ function: a tool's, or the same as the PMPI_ function. */
static int enter(struct row *r, const wf_mpi_word *a)
{
	wf_mpi_fn tool = atomic_load_explicit(&r->tool, memory_order_relaxed);

	if (tool == NULL) {
		tool = wf_mpi_library_find_tool(r->name + 1);
		if (tool == NULL)
			tool = NO_TOOL;
		atomic_store_explicit(&r->tool, tool, memory_order_relaxed);
	}
	return tool != NO_TOOL ? apply(tool, a) : run(r, a);
}

#define EXPORTED __attribute__((visibility("default")))
#define DEFINE(name, nr, ...)                                                 \
	EXPORTED int PMPI_##name(WF_MPI_P##nr);                               \
	EXPORTED int MPI_##name(WF_MPI_P##nr);                                \
	EXPORTED int PMPI_##name(WF_MPI_P##nr)                                \
	{                                                                     \
		return run(&rows[CALL_##name],                                \
			   (const wf_mpi_word[WF_MPI_ARGS]){ WF_MPI_A##nr }); \
	}                                                                     \
	EXPORTED int MPI_##name(WF_MPI_P##nr)                                 \
	{                                                                     \
		return enter(                                                 \
			&rows[CALL_##name],                                   \
			(const wf_mpi_word[WF_MPI_ARGS]){ WF_MPI_A##nr });    \
	}
#define DEFINE_C(name, nr, ...) \
	DEFINE(name, nr)        \
	DEFINE(name##_c, nr)
WF_MPI_CALLS(DEFINE, DEFINE_C)
