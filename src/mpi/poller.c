/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for MPI park, and one thread, the poller, repeats the
 * non-blocking calls of all of them until they are done. So only the poller
 * is in MPI's progress engine, however many threads wait.
 *
 * The poller is an ordinary thread of the program, since MPI takes locks and
 * allocates memory. It yields after each round. So it runs when its VP has
 * nothing else to run. Beside threads that compute a yield takes a slice of
 * each of them. The poller then sleeps for a short time instead: a thread that
 * wakes runs at the next tick at the latest.
 *
 * POLLER-1. A wait is owned by its thread until it is pushed, then by the
 *     poller until is_over is set, then by its thread again.
 * POLLER-2. The poller stores `asleep` before it reads `incoming` for the last
 *     time, and a thread pushes before it reads `asleep`. Both are sequentially
 *     consistent: one of the two sees the other's store.
 * POLLER-3. The poller calls the thread's own function with its own arguments.
 *     So results, statuses and error handlers are those of the program's call.
 *
 * Rejected: one MPI_Testsome over all requests. It takes a tenth of the time
 * where hundreds of threads wait and few messages arrive. But MPICH raises an
 * error of any request in it on MPI_COMM_WORLD, where it ends the program,
 * and not on the request's communicator.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi/mpi.h"

enum {
	/*
	 * A thread with no other thread waiting tries this often before it
	 * parks. An answer from another CPU takes about 1 us, which is 10 to
	 * 30 tries; two switches to the poller and back take as long.
	 */
	TRIES_ALONE = 32,
	/* The poller yields, and does not sleep, for so long without success:
	 * a sleep costs about 50 us more than it is meant to take. */
	SPIN_NS = 400 * 1000,
	/*
	 * It yields at once if a wait began or ended, since that thread may
	 * run now, and else this often. A yield without another thread is a
	 * system call, which costs as much as a round, and a time slice if
	 * another process wants the CPU.
	 */
	YIELD_NS = 5 * 1000,
	/* A yield that takes longer has let threads run that compute. */
	LONG_YIELD_NS = 300 * 1000,
	SLEEP_MIN_NS = 20 * 1000,
	SLEEP_MAX_NS = 1000 * 1000,
	/* A sleep is this part of the time since the last success: a wait
	 * becomes longer by no more than that part. */
	SLEEP_PART = 16,
};

static _Atomic(struct wf_mpi_wait *) incoming;
static _Atomic uint32_t asleep, nr_waits, is_made, is_ended;
static pthread_t thread;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* --- parking ------------------------------------------------------------- */

/* By syscall() a thread of weft parks; one of libc sleeps in the kernel. MPI
 * functions are no cancellation points, and this is none either. */
static void wait_on(_Atomic uint32_t *word, uint32_t old,
		    const struct timespec *timeout)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, timeout, NULL, 0);
	errno = saved;
}

void wf_mpi_park(_Atomic uint32_t *word, uint32_t old)
{
	/* acquire: pairs with the release in wf_mpi_unpark(). */
	while (atomic_load_explicit(word, memory_order_acquire) == old)
		wait_on(word, old, NULL);
}

/* The word may be in a frame that is left by now: a wake of no thread. */
void wf_mpi_unpark(_Atomic uint32_t *word)
{
	int saved = errno;

	/* release: publishes the result; pairs with wf_mpi_park(). */
	atomic_store_explicit(word, 1, memory_order_release);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = saved;
}

/* --- the poller's thread ------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static bool try_once(struct wf_mpi_wait *w)
{
	w->rc = wf_mpi_errors_try(w); /* POLLER-3 */
	return w->rc != 0 || *w->flag != 0;
}

/* Takes new waits into the list; returns whether there were any. */
static bool take_new(struct wf_mpi_wait **list)
{
	struct wf_mpi_wait *new = atomic_exchange(&incoming, NULL);
	struct wf_mpi_wait *next;
	bool any = new != NULL;

	for (; new != NULL; new = next) {
		next = new->next;
		new->next = *list;
		*list = new;
	}
	return any;
}

/* Ends the waits that are done; returns how many. */
static unsigned int sweep(struct wf_mpi_wait **list)
{
	unsigned int nr = 0;

	WF_MPI_COUNT(sweeps);
	while (*list != NULL) {
		struct wf_mpi_wait *w = *list;

		if (!try_once(w)) {
			list = &w->next;
			continue;
		}
		*list = w->next;
		atomic_fetch_sub(&nr_waits, 1);
		WF_MPI_COUNT(polled);
		wf_mpi_unpark(&w->is_over); /* POLLER-1 */
		nr++;
	}
	return nr;
}

/* Sleeps until a thread begins to wait, and at most for that time. 0: without
 * a limit. */
static void sleep_for(int64_t ns)
{
	const struct timespec timeout = { .tv_nsec = ns };

	atomic_store(&asleep, 1); /* POLLER-2 */
	if (atomic_load(&incoming) == NULL && !atomic_load(&is_ended)) {
		WF_MPI_COUNT(sleeps);
		wait_on(&asleep, 1, ns != 0 ? &timeout : NULL);
	}
	atomic_store(&asleep, 0);
}

static void kick(void)
{
	/* POLLER-2 */
	if (atomic_load(&asleep) != 0 && atomic_exchange(&asleep, 0) != 0)
		syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
			0);
}

struct rhythm {
	int64_t success_ns; /* when a wait began or ended */
	int64_t yield_ns;   /* when the poller has yielded or slept */
	bool is_crowded;    /* threads that compute have the VPs */
};

/* Lets other threads run; returns for how long. */
static int64_t yield(int64_t start)
{
	sched_yield();
	return now_ns() - start;
}

/* The same, and returns by how much the sleep was too long. */
static int64_t sleep_a_part_of(int64_t idle, int64_t start)
{
	int64_t length = idle / SLEEP_PART;

	if (length < SLEEP_MIN_NS)
		length = SLEEP_MIN_NS;
	if (length > SLEEP_MAX_NS)
		length = SLEEP_MAX_NS;
	sleep_for(length);
	return now_ns() - start - length;
}

/* Between two rounds. */
static void rest(struct rhythm *r, bool success)
{
	int64_t start = now_ns(), idle, late;

	if (success)
		r->success_ns = start;
	idle = start - r->success_ns;
	if (idle >= SPIN_NS || r->is_crowded)
		late = sleep_a_part_of(idle, start);
	else if (success || start - r->yield_ns >= YIELD_NS)
		late = yield(start);
	else
		return;
	r->yield_ns = start + late;
	r->is_crowded = late > LONG_YIELD_NS;
}

static void *poll(void *unused)
{
	struct wf_mpi_wait *list = NULL;
	struct rhythm rhythm = { 0 };

	(void)unused;
	while (!atomic_load(&is_ended)) {
		bool success = take_new(&list);

		if (list == NULL) {
			sleep_for(0);
			continue;
		}
		success |= sweep(&list) > 0;
		rest(&rhythm, success);
	}
	return NULL;
}

/* --- the waiting threads ------------------------------------------------- */

/* Makes the poller at the first need. It takes no signals of the program. */
static bool make_slow(void)
{
	sigset_t all, old;

	pthread_mutex_lock(&making);
	if (!atomic_load(&is_made)) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		if (pthread_create(&thread, NULL, poll, NULL) == 0) {
			pthread_setname_np(thread, "weft-mpi");
			atomic_store(&is_made, 1);
		}
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_mutex_unlock(&making);
	return atomic_load(&is_made);
}

static bool try_first(struct wf_mpi_wait *w)
{
	int tries = 1;

	if (atomic_load_explicit(&nr_waits, memory_order_relaxed) == 0)
		tries = TRIES_ALONE;
	while (tries-- > 0) {
		if (try_once(w))
			return true;
	}
	return false;
}

int wf_mpi_poller_wait(struct wf_mpi_wait *w)
{
	if (try_first(w)) {
		WF_MPI_COUNT(at_once);
		return w->rc;
	}
	if (!atomic_load(&is_made) && !make_slow()) {
		/* No thread can be made: wait as MPI does. */
		while (!try_once(w))
			sched_yield();
		return w->rc;
	}
	WF_MPI_COUNT(parked);
	atomic_fetch_add(&nr_waits, 1);
	w->next = atomic_load(&incoming);
	while (!atomic_compare_exchange_weak(&incoming, &w->next, w))
		;
	kick();
	wf_mpi_park(&w->is_over, 0);
	return w->rc;
}

unsigned int wf_mpi_poller_end(void)
{
	atomic_store(&is_ended, 1);
	if (atomic_load(&is_made)) {
		kick();
		pthread_join(thread, NULL);
	}
	return atomic_load(&nr_waits);
}
