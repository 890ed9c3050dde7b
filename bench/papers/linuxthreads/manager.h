/* SPDX-License-Identifier: MIT */
/*
 * The manager: a process that creates threads, reaps them, and ends them all
 * when the program ends.
 *
 *     struct lt_request request = { .kind = LT_CREATE, .from = self, ... };
 *
 *     if (lt_manager_start() == 0) {
 *             lt_manager_ask(&request);
 *             lt_suspend(self);
 *     }
 */
#ifndef LT_MANAGER_H
#define LT_MANAGER_H

#include "linuxthreads.h"

enum lt_request_kind {
	LT_CREATE, /* answered in from->error and from->created, by restart */
	LT_FREE,   /* `thread` has ended or will, and is joined or detached */
	LT_EXIT, /* the program ends; `from` is restarted, the others killed */
	LT_MAIN_EXIT, /* restart `from` when it is the only thread left */
};

struct lt_request {
	enum lt_request_kind kind;
	struct lt_thread *from;
	pthread_t thread;
	int status;
	bool is_detached;
	void *(*start)(void *);
	void *arg;
	struct lt_signals mask;
};

/* In start.c. */

/* Starts the manager if there is none. Returns 0 or an error number. */
int lt_manager_start(void);

/* In the main process, after LT_EXIT was answered: reaps the manager. There is
 * no other from then on. */
void lt_manager_stop(void);

/* Returns 0 if there is no manager. */
pid_t lt_manager_pid(void);

/* Writes a request into the manager's pipe. */
void lt_manager_ask(const struct lt_request *request);

/* In manager.c. */

/* The manager's main function; `requests` is the end of the pipe to read. */
void lt_manager_serve(int requests) __attribute__((noreturn));

/* The handler of LT_END in the manager. */
void lt_manager_thread_ended(void);

/* Runs in the child of a fork(), which has no other threads. */
void lt_manager_forget(void);

#endif
