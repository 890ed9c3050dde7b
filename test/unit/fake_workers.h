/* SPDX-License-Identifier: MIT */
/*
 * Requests to I/O workers, for the tests of these. fake_workers.c has the
 * functions that the workers' code needs. libc makes the workers that are
 * kernel threads.
 */
#ifndef WEFT_TEST_FAKE_SERVERS_H
#define WEFT_TEST_FAKE_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/backend/request.h"
#include "io/backend/worker_table.h"

/* Makes the creation of threads or processes fail. */
extern bool fake_refuses_threads, fake_refuses_processes;

/* Whether a computing thread is preempted for a woken one. */
extern _Atomic bool fake_yields;

/* The last request that a worker gave back to the watcher, and its result. */
extern struct wf_request *_Atomic fake_served;
extern _Atomic int fake_served_result;

/* A request that waits for `word` to change from 0. */
struct call {
	struct wf_request r;
	_Atomic uint32_t nr_done;
	_Atomic uint32_t word;
};
void call_set_wait(struct call *c);
/* Pushes a request like a thread that parks at once. */
int call_push_wait(struct call *c);
/* Pushes a request that ends before its thread checks it. */
void call_push_hit(struct call *c);
struct wf_worker *call_server(const struct call *c);
/* Sets the word, so it does not matter whether the wait has begun. */
void call_wake(struct call *c);
int call_result(struct call *c);
/*
 * Cancels the call until it is done, like wf_request_run: a cancellation before
 * the worker's call begins is lost. Returns the result.
 */
int call_end(struct call *c);

/* Tests that run with both kinds of workers. */
void waits_are_served(void **state);
void next_request_is_not_ended(void **state);
void hit_needs_no_report(void **state);
void wait_is_reported(void **state);

#endif
