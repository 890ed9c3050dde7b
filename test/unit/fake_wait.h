/* SPDX-License-Identifier: MIT */
/*
 * The user futex as the sync objects see it, over plain libc threads: so that
 * src/sync can be tested without a scheduler. Waits are delayed and
 * interrupted at random to widen the windows between an object's steps.
 *
 *     fake_seed();                            once, prints the seed
 *     fake_run(8, body, arg);                 body(arg, number) in 8 threads;
 *                                             there fake_check(condition)
 *
 * FAKE_SEED=number repeats a run's random choices, as far as the kernel's
 * scheduling lets it.
 */
#ifndef FAKE_WAIT_H
#define FAKE_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* For bodies of fake_run, in which cmocka's assertions do not work. */
#define fake_check(condition) \
	((condition) ? (void)0 : fake_failed(#condition, __FILE__, __LINE__))
_Noreturn void fake_failed(const char *condition, const char *file, int line);

/* One of this many waits ends with -EINTR; 0: none does. */
extern unsigned int fake_interrupt_every;

/* Returns the number of threads that are parked on addr. */
int fake_waiters(const void *addr);
void fake_await_waiters(const void *addr, int nr);
/* Ends the first wait on addr with -EINTR, like a signal handler. */
void fake_interrupt(const void *addr);
/* The number of calls of the user futex: wait, wake and requeue. */
uint64_t fake_calls(void);

void fake_seed(void);
uint32_t fake_random(uint32_t below);
/* Yields the CPU, spins, or does nothing. */
void fake_delay(void);

typedef void fake_body(void *arg, int number);
void fake_run(int nr_threads, fake_body *body, void *arg);
/* Starts the threads and returns; fake_join waits for their end. */
struct fake_crew;
struct fake_crew *fake_start(int nr_threads, fake_body *body, void *arg);
void fake_join(struct fake_crew *crew);

/* A page of zeros; an access after fake_page_free faults. */
void *fake_page(void);
void fake_page_free(void *page);

/* Returns the absolute time that is ns from now. */
struct timespec fake_time(clockid_t clock, int64_t ns);

#endif
