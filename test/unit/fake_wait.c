/* SPDX-License-Identifier: MIT */
#include "fake_wait.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/list.h"
#include "libc/layout.h"
#include "libc/real.h"
#include "os/deadline.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "wait/ufutex.h"

/*
 * One lock, one list in order of arrival, one condition per waiter. The
 * contract is in wait/ufutex.h; the rest of the real one is left out.
 */
struct waiter {
	struct wf_list link;
	const void *addr;
	uint32_t bits;
	int result;
	bool is_waiting, was_moved;
	pthread_cond_t cond;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list waiters = { &waiters, &waiters };
static _Atomic uint64_t nr_calls;
static uint64_t seed;
unsigned int fake_interrupt_every;

static __thread struct waiter self_waiter;
static __thread uint64_t random_state;
__thread struct wf_thread *wf_self;

/* libc's list of cleanup handlers is missing: the unwinder runs them. */
struct wf_libc_layout wf_libc;

struct wf_real wf_real = {
	.pthread_mutex_lock = pthread_mutex_lock,
	.pthread_mutex_unlock = pthread_mutex_unlock,
};

struct wf_thread *wf_runtime_attach(void)
{
	static _Atomic int32_t next_tid = 1 << 22;
	static __thread struct wf_thread self;

	self.tid = atomic_fetch_add(&next_tid, 1);
	/* Half of the threads may wait inside the runtime. */
	self.kind = self.tid % 2 == 0 ? WF_THREAD_MULTIPLEXED : WF_THREAD_BOUND;
	wf_self = &self;
	return wf_self;
}

/* No fake thread loses its VP. */
void wf_runtime_reacquire_slow(struct wf_thread *t)
{
	abort();
}

void wf_runtime_leave_slow(struct wf_thread *t)
{
	abort();
}

int wf_sched_yield(void)
{
	return sched_yield();
}

/* --- random choices ----------------------------------------------------- */

void fake_seed(void)
{
	const char *given = getenv("FAKE_SEED");

	seed = given != NULL ? strtoull(given, NULL, 0) :
			       (uint64_t)time(NULL) * 1000003u + getpid();
	printf("FAKE_SEED=%llu\n", (unsigned long long)seed);
}

uint32_t fake_random(uint32_t below)
{
	static _Atomic uint64_t nr_states;

	if (random_state == 0)
		random_state = (seed + 1 + atomic_fetch_add(&nr_states, 1)) *
			       0x9e3779b97f4a7c15ULL;
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 32) % below;
}

void fake_delay(void)
{
	uint32_t choice = fake_random(16);

	if (choice < 2)
		sched_yield();
	else if (choice < 4)
		for (volatile uint32_t i = fake_random(400); i > 0; i--)
			continue;
}

/* --- the user futex ----------------------------------------------------- */

static void enter(void)
{
	atomic_fetch_add(&nr_calls, 1);
	fake_delay();
	pthread_mutex_lock(&lock);
}

static void finish(struct waiter *w, int result)
{
	wf_list_del(&w->link);
	w->is_waiting = false;
	w->result = result;
	pthread_cond_signal(&w->cond);
}

/* 30 s, longer than any test: no other thread ends this wait. */
static void wait_for_long(struct waiter *w)
{
	struct timespec late;

	clock_gettime(CLOCK_MONOTONIC, &late);
	late.tv_sec += 30;
	fake_check(pthread_cond_clockwait(&w->cond, &lock, CLOCK_MONOTONIC,
					  &late) != ETIMEDOUT ||
		   !w->is_waiting);
}

static void sleep_locked(struct waiter *w, int64_t deadline_ns)
{
	struct timespec ts = wf_os_timespec(wf_deadline_time(deadline_ns));

	while (w->is_waiting) {
		int rc = 0;

		if (deadline_ns == WF_FOREVER)
			wait_for_long(w);
		else
			rc = pthread_cond_clockwait(
				&w->cond, &lock, wf_deadline_clock(deadline_ns),
				&ts);
		if (rc == ETIMEDOUT && w->is_waiting)
			finish(w, -ETIMEDOUT);
	}
}

static int wait(const void *addr, uint32_t bits, int64_t deadline_ns)
{
	struct waiter *w = &self_waiter;

	pthread_cond_init(&w->cond, NULL);
	w->addr = addr;
	w->bits = bits;
	w->is_waiting = true;
	wf_list_add_tail(&waiters, &w->link);
	sleep_locked(w, deadline_ns);
	pthread_mutex_unlock(&lock);
	fake_delay();
	return w->result;
}

/*
 * Returns 0, or the reason why the wait does not begin. The lock is released in
 * the second case.
 */
static int begin(void)
{
	enter();
	self_waiter.was_moved = false;
	if (fake_interrupt_every && fake_random(fake_interrupt_every) == 0) {
		pthread_mutex_unlock(&lock);
		return -EINTR;
	}
	return 0;
}

static int refuse(void)
{
	pthread_mutex_unlock(&lock);
	return -EAGAIN;
}

static int noted(struct wf_ufutex_note *note, int result)
{
	if (note != NULL)
		*note = (struct wf_ufutex_note){ result, self_waiter.was_moved,
						 false };
	return result;
}

int wf_ufutex_leave(struct wf_ufutex_note *note)
{
	return note->result;
}

static int wait_compared(const void *addr, uint32_t expected, uint32_t bits,
			 int64_t deadline_ns)
{
	int rc = begin();

	if (rc != 0)
		return rc;
	if (wf_load_relaxed((const _Atomic uint32_t *)addr) != expected)
		return refuse();
	return wait(addr, bits, deadline_ns);
}

int wf_ufutex_wait_noted(enum wf_wait_kind kind, const void *addr,
			 uint32_t expected, uint32_t bits, int64_t deadline_ns,
			 struct wf_ufutex_note *note)
{
	return noted(note, wait_compared(addr, expected, bits, deadline_ns));
}

int wf_ufutex_wait(enum wf_wait_kind kind, const void *addr, uint32_t expected,
		   uint32_t bits, int64_t deadline_ns)
{
	return wait_compared(addr, expected, bits, deadline_ns);
}

int wf_ufutex_wait_starving(const void *addr, uint32_t expected,
			    int64_t deadline_ns, int64_t since_ns,
			    struct wf_ufutex_note *note)
{
	return wf_ufutex_wait_noted(WF_WAIT_MUTEX, addr, expected,
				    WF_UFUTEX_ANY, deadline_ns, note);
}

int wf_ufutex_wait_commit(enum wf_wait_kind kind, const void *addr,
			  wf_ufutex_commit_fn *commit, void *arg,
			  int64_t deadline_ns, struct wf_ufutex_note *note)
{
	int rc = begin();

	if (rc == 0)
		rc = commit(arg) ? wait(addr, WF_UFUTEX_ANY, deadline_ns) :
				   refuse();
	return noted(note, rc);
}

void wf_ufutex_change(const void *addr, wf_ufutex_change_fn *change, void *arg)
{
	enter();
	change(arg);
	pthread_mutex_unlock(&lock);
	fake_delay();
}

static struct waiter *next_of(struct wf_list *from, const void *addr,
			      uint32_t bits)
{
	for (struct wf_list *l = from->next; l != &waiters; l = l->next) {
		struct waiter *w = wf_container_of(l, struct waiter, link);

		if (w->addr == addr && (w->bits & bits))
			return w;
	}
	return NULL;
}

static int wake_locked(const void *addr, int nr, uint32_t bits)
{
	int n = 0;
	struct waiter *w;

	for (; n < nr && (w = next_of(&waiters, addr, bits)) != NULL; n++)
		finish(w, 0);
	return n;
}

int wf_ufutex_wake(const void *addr, int nr, uint32_t bits)
{
	int n;

	enter();
	n = wake_locked(addr, nr, bits);
	pthread_mutex_unlock(&lock);
	fake_delay();
	return n;
}

bool wf_ufutex_is_waited(const void *addr)
{
	bool is_waited;

	enter();
	is_waited = next_of(&waiters, addr, WF_UFUTEX_ANY) != NULL;
	pthread_mutex_unlock(&lock);
	return is_waited;
}

/* decide() gets a waiter of this file in place of a thread. */
bool wf_ufutex_has_more(const struct wf_thread *first)
{
	struct waiter *w = (struct waiter *)first;

	return w != NULL && next_of(&w->link, w->addr, WF_UFUTEX_ANY) != NULL;
}

int wf_ufutex_wake_one(const void *addr, wf_ufutex_decide_fn *decide, void *arg)
{
	struct waiter *w;
	int token;

	enter();
	w = next_of(&waiters, addr, WF_UFUTEX_ANY);
	token = decide(arg, (const struct wf_thread *)w);
	if (w != NULL)
		finish(w, token);
	pthread_mutex_unlock(&lock);
	fake_delay();
	return w != NULL;
}

static int move_locked(const void *from, const void *to, int nr)
{
	struct waiter *w;
	int n = 0;

	for (; to != from && n < nr &&
	       (w = next_of(&waiters, from, WF_UFUTEX_ANY)) != NULL;
	     n++) {
		wf_list_del(&w->link);
		wf_list_add_tail(&waiters, &w->link);
		w->addr = to;
		w->was_moved = true;
	}
	return n;
}

int wf_ufutex_requeue(const void *from, uint32_t expected, int nr_wake,
		      const void *to, int nr_requeue)
{
	int n = -EAGAIN;

	enter();
	if (wf_load_relaxed((const _Atomic uint32_t *)from) == expected) {
		n = wake_locked(from, nr_wake, WF_UFUTEX_ANY);
		n += move_locked(from, to, nr_requeue);
	}
	pthread_mutex_unlock(&lock);
	fake_delay();
	return n;
}

int wf_ufutex_wake_or_move(const struct wf_ufutex_move *move)
{
	int n;

	enter();
	n = move->plan(move->arg);
	if (n >= 0) {
		n = wake_locked(move->from, n, WF_UFUTEX_ANY);
		n += move_locked(move->from, move->to, INT_MAX);
		move->gone(move->arg, n);
	}
	pthread_mutex_unlock(&lock);
	fake_delay();
	return n;
}

int fake_waiters(const void *addr)
{
	int n = 0;

	pthread_mutex_lock(&lock);
	for (struct waiter *w = next_of(&waiters, addr, WF_UFUTEX_ANY);
	     w != NULL; w = next_of(&w->link, addr, WF_UFUTEX_ANY))
		n++;
	pthread_mutex_unlock(&lock);
	return n;
}

void fake_await_waiters(const void *addr, int nr)
{
	while (fake_waiters(addr) != nr)
		sched_yield();
}

void fake_interrupt(const void *addr)
{
	struct waiter *w;

	pthread_mutex_lock(&lock);
	w = next_of(&waiters, addr, WF_UFUTEX_ANY);
	if (w != NULL)
		finish(w, -EINTR);
	pthread_mutex_unlock(&lock);
}

uint64_t fake_calls(void)
{
	return atomic_load(&nr_calls);
}

_Noreturn void fake_failed(const char *condition, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not true: %s (FAKE_SEED=%llu)\n", file, line,
		condition, (unsigned long long)seed);
	abort();
}

/* --- threads, memory, time ---------------------------------------------- */

struct member {
	pthread_t thread;
	struct fake_crew *crew;
	int number;
};

struct fake_crew {
	fake_body *body;
	void *arg;
	int nr_threads;
	struct member members[];
};

static void *run_member(void *arg)
{
	struct member *m = arg;

	m->crew->body(m->crew->arg, m->number);
	return NULL;
}

struct fake_crew *fake_start(int nr_threads, fake_body *body, void *arg)
{
	struct fake_crew *crew = malloc(
		sizeof(*crew) + (size_t)nr_threads * sizeof(struct member));

	*crew = (struct fake_crew){ body, arg, nr_threads };
	for (int i = 0; i < nr_threads; i++) {
		crew->members[i] = (struct member){ .crew = crew, .number = i };
		pthread_create(&crew->members[i].thread, NULL, run_member,
			       &crew->members[i]);
	}
	return crew;
}

void fake_join(struct fake_crew *crew)
{
	for (int i = 0; i < crew->nr_threads; i++)
		pthread_join(crew->members[i].thread, NULL);
	free(crew);
}

void fake_run(int nr_threads, fake_body *body, void *arg)
{
	fake_join(fake_start(nr_threads, body, arg));
}

#define PAGE_BYTES 4096

void *fake_page(void)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page == MAP_FAILED ? NULL : page;
}

void fake_page_free(void *page)
{
	munmap(page, PAGE_BYTES);
}

struct timespec fake_time(clockid_t clock, int64_t ns)
{
	return wf_os_timespec(wf_os_clock(clock) + ns);
}
