/* SPDX-License-Identifier: MIT */
/*
 * For the tests of I/O workers: requests to them, and in fake_workers.c what
 * their code needs of the rest. Servers that are kernel threads are made by
 * libc here.
 */
#ifndef WEFT_TEST_FAKE_SERVERS_H
#define WEFT_TEST_FAKE_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/request.h"
#include "io/worker_table.h"

/* Make the creation of threads or processes fail. */
extern bool fake_refuses_threads, fake_refuses_processes;

/* A computing thread is preempted for a woken one. */
extern _Atomic bool fake_yields;

/* The last request that was given back to the watcher, with its result. */
extern struct wf_request *_Atomic fake_served;
extern _Atomic int fake_served_result;

/* A wait for `word`, which is 0. */
struct call {
	struct wf_request r;
	_Atomic uint32_t nr_done;
	_Atomic uint32_t word;
};
void call_set_wait(struct call *c);
/* Pushes a request as a thread does that parks at once. */
int call_push_wait(struct call *c);
/* The same of one that ends at once, before its thread looks. */
void call_push_hit(struct call *c);
struct wf_worker *call_server(const struct call *c);
/* By the word, so that it does not matter whether the wait has begun. */
void call_wake(struct call *c);
int call_result(struct call *c);
/* As wf_request_run asks, again and again. */
int call_end(struct call *c);

/* Tests of workers of both kinds. */
void waits_are_served(void **state);
void next_request_is_not_ended(void **state);
void hit_is_seen_and_not_told(void **state);
void wait_is_told(void **state);

#endif
