/* SPDX-License-Identifier: MIT */
/*
 * The end of the program. The manager kills all threads. Unless the main
 * process ends the program itself, it then ends as the thread did that ended
 * the program: with its status, or by its signal.
 */
#ifndef LT_END_H
#define LT_END_H

struct lt_thread;

/*
 * In the manager, ends the program because `from` has called exit(status).
 * `alive` is the list of all threads, linked by next_alive.
 */
void lt_end_by_exit(struct lt_thread *from, int status, struct lt_thread *alive)
	__attribute__((noreturn));

/* In the manager: a thread's process has ended without pthread_exit(), with
 * that status of waitpid(). */
void lt_end_by_status(int wait_status, struct lt_thread *alive)
	__attribute__((noreturn));

/* In the main process: the handler of LT_END. The manager has ended, or tells
 * the main process to end. */
void lt_end_main(void);

#endif
