/* SPDX-License-Identifier: MIT */
/*
 * The functions of weft.h, as a library for programs that may run without weft.
 * Each function calls the runtime if the process has one. If not, it uses the
 * kernel alone.
 *
 * Without the runtime a waiter polls its words for 30 us, about the time of a
 * sleep and a wake. Then it sleeps on one futex, the bell, which every doorbell
 * rings. If some word has no doorbell, the waiter also wakes to poll. The
 * interval is a 64th of the time that it has waited, 1 ms at least and 16 ms at
 * most.
 *
 * FALLBACK-1. A waiter counts itself, fences, reads the bell, polls its words,
 *     and sleeps unless the bell has changed. A ringing thread changes the
 *     word, fences, and reads the count of waiters. So one of the two sees the
 *     other.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <weft/runtime.h>

extern const struct weft_runtime_functions *weft_runtime(void)
	__attribute__((weak));

enum {
	POLL_NS = 30 * 1000,
	INTERVAL_NS = 1000 * 1000,
	MAX_INTERVAL_NS = 16 * INTERVAL_NS,
	POLL_PART = 64,
	FLAGS = WEFT_WORD_RUNG | WEFT_WORD_POLLED,
};

#define NS_PER_S 1000000000LL

static _Atomic uint32_t bell, nr_waiters; /* FALLBACK-1 */

static const struct weft_runtime_functions *runtime(void)
{
	return weft_runtime != NULL ? weft_runtime() : NULL;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t deadline_of(const struct timespec *ts)
{
	int64_t ns;

	if (ts == NULL || __builtin_mul_overflow(ts->tv_sec, NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, ts->tv_nsec, &ns))
		return ts != NULL && ts->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* --- polling ------------------------------------------------------------ */

static size_t bytes_of(const struct weft_word *w)
{
	return w->size & ~(size_t)FLAGS;
}

static bool is_valid(const struct weft_word *w)
{
	size_t bytes = bytes_of(w);

	return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
	       (uintptr_t)w->addr % bytes == 0;
}

static uint64_t load(const volatile void *addr, size_t bytes)
{
	switch (bytes) {
	case 1:
		return *(const volatile uint8_t *)addr;
	case 2:
		return *(const volatile uint16_t *)addr;
	case 4:
		return *(const volatile uint32_t *)addr;
	default:
		return *(const volatile uint64_t *)addr;
	}
}

/*
 * Reads the word by a system call, since the program may have unmapped it. If
 * a sandbox forbids the call, reads it directly. Returns 0 or EFAULT.
 */
static int read_word(const struct weft_word *w, uint64_t *ret_value)
{
	size_t bytes = bytes_of(w);
	uint64_t copy;
	struct iovec to = { &copy, bytes };
	struct iovec from = { (void *)(uintptr_t)w->addr, bytes };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) >= 0)
		*ret_value = load(&copy, bytes);
	else if (errno == EFAULT)
		return EFAULT;
	else
		*ret_value = load(w->addr, bytes);
	return 0;
}

/*
 * Returns -1 if no word has changed, else 0, or EFAULT if one cannot be read.
 * *ret_index is that word.
 */
static int poll_once(const struct weft_word *words, size_t nr,
		     size_t *ret_index)
{
	for (size_t i = 0; i < nr; i++) {
		uint64_t value;
		int err = read_word(&words[i], &value);

		if (err == 0 && (value & words[i].mask) == words[i].old)
			continue;
		atomic_thread_fence(memory_order_acquire);
		if (ret_index != NULL)
			*ret_index = i;
		return err;
	}
	return -1;
}

/* --- waiting ------------------------------------------------------------ */

static int poll_for(const struct weft_word *words, size_t nr, size_t *ret_index,
		    int64_t until_ns)
{
	int rc;

	/* The thread that will change the word may need this CPU. */
	while ((rc = poll_once(words, nr, ret_index)) < 0 &&
	       now_ns() < until_ns)
		syscall(SYS_sched_yield);
	return rc;
}

static void sleep_on_bell(uint32_t seen, int64_t until_ns)
{
	struct timespec until = { until_ns / NS_PER_S, until_ns % NS_PER_S };
	int type;

	/* libc's syscall() is no cancellation point: makes it one. */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	syscall(SYS_futex, &bell, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen,
		until_ns == INT64_MAX ? NULL : &until, NULL,
		FUTEX_BITSET_MATCH_ANY);
	pthread_setcanceltype(type, NULL);
}

static void leave(void *arg)
{
	(void)arg;
	atomic_fetch_sub(&nr_waiters, 1);
}

/* The time until the next poll if a word has no doorbell. */
static int64_t poll_interval(int64_t waited_ns)
{
	int64_t ns = waited_ns / POLL_PART;

	return ns < INTERVAL_NS	    ? INTERVAL_NS :
	       ns < MAX_INTERVAL_NS ? ns :
				      MAX_INTERVAL_NS;
}

static int sleep_for(const struct weft_word *words, size_t nr,
		     size_t *ret_index, int64_t deadline_ns, bool all_rung)
{
	int64_t begin_ns = now_ns();
	int rc;

	atomic_fetch_add(&nr_waiters, 1); /* seq_cst: FALLBACK-1 */
	pthread_cleanup_push(leave, NULL);
	for (;;) {
		uint32_t seen = atomic_load(&bell);
		int64_t now = now_ns(), until = deadline_ns;

		rc = poll_once(words, nr, ret_index);
		if (rc < 0 && now >= deadline_ns)
			rc = ETIMEDOUT;
		if (rc >= 0)
			break;
		if (!all_rung && until > now + poll_interval(now - begin_ns))
			until = now + poll_interval(now - begin_ns);
		sleep_on_bell(seen, until);
	}
	pthread_cleanup_pop(1);
	return rc;
}

static int wait_without(const struct weft_word *words, size_t nr,
			size_t *ret_index, const struct timespec *deadline)
{
	int64_t deadline_ns = deadline_of(deadline);
	int64_t poll_end_ns = now_ns() + POLL_NS;
	bool all_rung = true, is_polled = false;
	int rc;

	if (nr == 0 || nr > WEFT_WORDS_MAX ||
	    (deadline != NULL && (unsigned long)deadline->tv_nsec >= NS_PER_S))
		return EINVAL;
	for (size_t i = 0; i < nr; i++) {
		if (!is_valid(&words[i]))
			return EINVAL;
		all_rung &= (words[i].size & WEFT_WORD_RUNG) != 0;
		is_polled |= (words[i].size & WEFT_WORD_POLLED) != 0;
	}
	pthread_testcancel();
	if (deadline_ns < poll_end_ns)
		poll_end_ns = deadline_ns;
	rc = poll_for(words, nr, ret_index, poll_end_ns);
	if (rc >= 0)
		return rc;
	if (is_polled)
		return now_ns() >= deadline_ns ? ETIMEDOUT : EAGAIN;
	return sleep_for(words, nr, ret_index, deadline_ns, all_rung);
}

int weft_word_wait_any_until(const struct weft_word *words, size_t nr,
			     size_t *ret_index, const struct timespec *deadline)
{
	const struct weft_runtime_functions *r = runtime();
	int saved_errno = errno, rc;

	if (r != NULL)
		return r->word_wait_any_until(words, nr, ret_index, deadline);
	rc = wait_without(words, nr, ret_index, deadline);
	errno = saved_errno;
	return rc;
}

int weft_word_wait_until(const volatile void *addr, size_t size, uint64_t mask,
			 uint64_t old, const struct timespec *deadline)
{
	const struct weft_runtime_functions *r = runtime();
	const struct weft_word word = { addr, size, mask, old };

	if (r != NULL)
		return r->word_wait_until(addr, size, mask, old, deadline);
	return weft_word_wait_any_until(&word, 1, NULL, deadline);
}

void weft_word_ring(const volatile void *addr)
{
	const struct weft_runtime_functions *r = runtime();
	int saved_errno = errno;

	if (r != NULL) {
		r->word_ring(addr);
		return;
	}
	atomic_thread_fence(memory_order_seq_cst); /* FALLBACK-1 */
	if (atomic_load_explicit(&nr_waiters, memory_order_relaxed) == 0)
		return;
	atomic_fetch_add(&bell, 1);
	syscall(SYS_futex, &bell, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX,
		NULL, NULL, 0);
	errno = saved_errno;
}

uint32_t *weft_word_new(uint32_t value)
{
	const struct weft_runtime_functions *r = runtime();
	int saved_errno = errno;
	uint32_t *word;

	if (r != NULL)
		return r->word_new(value);
	word = malloc(sizeof(*word));
	if (word != NULL)
		*word = value;
	errno = saved_errno;
	return word;
}

void weft_word_free(uint32_t *word)
{
	const struct weft_runtime_functions *r = runtime();

	if (r != NULL)
		r->word_free(word);
	else
		free(word);
}

/* --- without waits ------------------------------------------------------ */

const char *weft_version(void)
{
	const struct weft_runtime_functions *r = runtime();

	return r != NULL ? r->version() : WEFT_VERSION;
}

int weft_is_active(void)
{
	const struct weft_runtime_functions *r = runtime();

	return r != NULL ? r->is_active() : 0;
}

int weft_agent_set(enum weft_agent_policy policy, unsigned int agents)
{
	const struct weft_runtime_functions *r = runtime();

	return r != NULL ? r->agent_set(policy, agents) : ENOTSUP;
}

/*
 * Does nothing: without the runtime a blocked thread keeps no other from
 * running.
 */
void weft_block_begin(void)
{
	const struct weft_runtime_functions *r = runtime();

	if (r != NULL)
		r->block_begin();
}

void weft_block_end(void)
{
	const struct weft_runtime_functions *r = runtime();

	if (r != NULL)
		r->block_end();
}

void weft_stats(struct weft_stats *stats, size_t size)
{
	const struct weft_runtime_functions *r = runtime();

	if (r != NULL)
		r->stats(stats, size);
	else
		memset(stats, 0, size);
}

/* The runtime, or NULL if it is too old to have the function. */
static const struct weft_runtime_functions *runtime_with(size_t offset)
{
	const struct weft_runtime_functions *r = runtime();

	return r != NULL && r->size > offset ? r : NULL;
}
#define RUNTIME_WITH(name) \
	runtime_with(offsetof(struct weft_runtime_functions, name))

int weft_let_others(void)
{
	const struct weft_runtime_functions *r = RUNTIME_WITH(let_others);

	return r != NULL && r->let_others();
}

void weft_yield_cpu(void)
{
	const struct weft_runtime_functions *r = RUNTIME_WITH(yield_cpu);

	if (r != NULL)
		r->yield_cpu();
	else
		syscall(SYS_sched_yield);
}

size_t weft_thread_list(struct weft_thread *threads, size_t nr, size_t size)
{
	const struct weft_runtime_functions *r = RUNTIME_WITH(thread_list);

	return r != NULL ? r->thread_list(threads, nr, size) : 0;
}

int weft_thread_bind(pthread_t thread)
{
	const struct weft_runtime_functions *r = RUNTIME_WITH(thread_bind);

	return r != NULL ? r->thread_bind(thread) : ENOTSUP;
}
