/* SPDX-License-Identifier: MIT */
/*
 * The parts of the torture test. torture.c has the workers and chooses acts,
 * which the other files have. Each act is a function of its worker's random
 * generator. It leaves the shared state valid, and handlers may interrupt it
 * anywhere. It never waits for anything that another worker may hold while
 * waiting.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include "stress.h"

typedef void torture_act(uint64_t *random);

/* torture.c */
long torture_nr_workers(void);
pthread_t torture_worker(long number);
/* A thread with one of several kinds of attributes. */
pthread_t torture_start(uint64_t *random, void *(*start)(void *), void *arg);

/* torture_sync.c */
torture_act transfer, take_permit, use_ticket, read_or_write, spin_briefly;
void torture_sync_begin(bool prefers_writers);
void torture_sync_check(void);

/* torture_threads.c */
torture_act meet, detach, join_in_time, cancel;
void torture_threads_check(void);

/* torture_kernel.c */
torture_act signal_worker, signal_process, use_timer, use_sigwait;
torture_act fork_child, vfork_and_exec, spawn_program, change_ids;
torture_act move_token, wait_for_events, replace_number;
/* Returns 1, or 0 at the end. Both functions continue after handlers. */
ssize_t torture_read_byte(int fd, char *ret_byte);
void torture_write_byte(int fd, char byte);
void torture_kernel_begin(void);
void torture_kernel_check(void);

/* torture_streams.c */
torture_act converse, accept_together, count_events, count_ticks;

/* torture_objects.c */
torture_act use_futexes, leave_lock;
torture_act lose_sem, lose_mutex, lose_cond, lose_barrier;

/* torture_ends.c */
torture_act share_with_child, end_child, jump_out, name_ending, cancel_at_once;
void torture_ends_begin(void);

/* torture_timers.c */
torture_act take_ticks, start_by_timer;
void torture_timers_begin(void);

/* torture_faults.c */
torture_act vfork_on_stack;
void torture_faults_begin(void);

/* torture_locks.c */
torture_act signal_in_wait, use_rwlock, meet_often;
void torture_locks_begin(void);

/* torture_cancels.c */
torture_act cancel_crowd, cancel_anywhere, cancel_once, lose_values;

/* torture_processes.c */
torture_act fork_together, run_programs, play_with_child, kill_owners;
void torture_processes_begin(void);

/* Makes a child end soon if its parent fails. */
static inline void torture_end_in_time(void)
{
	alarm(120);
}

/* A deadline so near that time-outs meet wakes. */
static inline struct timespec torture_soon(uint64_t *random, clockid_t clock)
{
	return ts_after_ns(deadline_ms(clock, 0), random_below(random, 300000));
}

#endif
