/*
 * A fixed table of buckets keyed by address. A waiter is in the list of one
 * bucket, oldest first.
 *
 * U1. wait_addr, wait_bits, wait_result, wait_link and wait_bucket of a
 *     waiting thread change only under the lock of the bucket that
 *     wait_bucket names. It names none when the thread is in no wait; so
 *     whoever holds the lock of the bucket that it names sees a whole wait.
 * U2. A thread that parks holds its bucket's lock until its context is saved:
 *     the post-switch callback releases it. So whoever finds it in the list
 *     may make it runnable.
 * U3. Whoever takes a waiter out of the list, and nobody else, ends its wait
 *     and sets wait_result.
 * U4. wait_generation counts a thread's waits. A timer that fires late names
 *     an old generation and ends nothing.
 * U5. The word is compared under the bucket's lock, and a waker changes it
 *     before it takes the lock: no wake is lost between compare and park.
 *
 * U6. No handler of the program's runs on a kernel thread that holds a bucket:
 *     on carriers in_runtime defers it, elsewhere it is blocked.
 * U7. A handler may wait while the wait that it interrupted is under way.
 *
 * Lock order: two buckets by address; a bucket, then a timer heap.
 *
 * Rejected: a state word per waiter with compare-and-swap by waker, timer and
 * signal. It costs two more atomics per wait, and the bucket's lock already
 * decides who wins.
 */
#include "wait/ufutex.h"

#include <errno.h>

#include "os/futex.h"
#include "sched/idle.h"
#include "sched/ready.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "wait/closed.h"
#include "wait/timer.h"
#include "wait/ufutex_internal.h"

enum { BUCKET_BITS = 12, NR_BUCKETS = 1 << BUCKET_BITS };

struct wf_bucket {
	struct wf_spin lock;
	struct wf_list waiters; /* next NULL: never used */
} WF_ALIGNED(WF_CACHE_LINE);

static struct wf_bucket buckets[NR_BUCKETS];

bool (*wf_ufutex_is_interrupted)(struct wf_thread *t);
bool (*wf_ufutex_is_cancelled)(const struct wf_thread *t);

static struct wf_bucket *bucket_of(const void *addr)
{
	/* Fibonacci hashing; words are 4-byte aligned. */
	uint64_t h = ((uintptr_t)addr >> 2) * 0x9e3779b97f4a7c15ULL;

	return &buckets[h >> (64 - BUCKET_BITS)];
}

static void lock_bucket(struct wf_bucket *b)
{
	wf_spin_lock(&b->lock);
	if (WF_UNLIKELY(b->waiters.next == NULL))
		wf_list_init(&b->waiters);
}

/* --- waiting ------------------------------------------------------------ */

static void enqueue_locked(struct wf_bucket *b, struct wf_thread *t)
{
	wf_list_add_tail(&b->waiters, &t->wait_link);
	wf_store_relaxed(&t->wait_bucket, b);
}

static void dequeue_locked(struct wf_thread *t, int result)
{
	wf_list_del(&t->wait_link);
	t->wait_addr = NULL;
	wf_store_relaxed(&t->wait_bucket, NULL); /* U1 */
	t->wait_result = result;		 /* U3 */
}

static void unlock_after_switch(struct wf_carrier *c, void *bucket)
{
	wf_spin_unlock(&((struct wf_bucket *)bucket)->lock); /* U2 */
}

static void park_multiplexed(struct wf_thread *t, struct wf_bucket *b,
			     int64_t deadline_ns, struct wf_thread *next)
{
	bool is_timed = deadline_ns != WF_FOREVER;

	t->hog = false;
	wf_count_own(&t->vp->counters, parks);
	if (is_timed)
		wf_timer_add(t, deadline_ns);
	if (next == NULL)
		next = wf_queue_pick(t->vp);
	if (is_timed && next != NULL)
		wf_idle_see_timer(deadline_ns);
	if (next != NULL)
		wf_switch_to(t, next, unlock_after_switch, b);
	else
		wf_switch_to_carrier(t, unlock_after_switch, b);
	if (is_timed)
		wf_timer_remove(t);
}

/* Bound and foreign threads sleep in the kernel, in this very place. */
static void park_kernel_thread(struct wf_thread *t, struct wf_bucket *b,
			       int64_t deadline_ns, uint64_t mask)
{
	uint64_t generation = t->wait_generation;

	wf_store_relaxed(&t->kernel_word, 0);
	wf_spin_unlock(&b->lock);
	wf_signals_open(t, mask);
	/* acquire: pairs with the release in wake_kernel_thread. */
	while (wf_load_acquire(&t->kernel_word) == 0) {
		int err;

		/* Handlers of the program's may run in the sleep. */
		wf_store_release(&t->in_runtime, 0);
		err = wf_os_futex_wait(&t->kernel_word, 0, deadline_ns);
		wf_store_relaxed(&t->in_runtime, 1);
		wf_compiler_barrier();
		if (err == -ETIMEDOUT || err == -EINTR)
			wf_ufutex_end_wait(t, generation, err, t);
	}
}

/* Why the wait must not begin, or 0. */
static int refusal_locked(struct wf_thread *t, const _Atomic uint32_t *word,
			  uint32_t expected)
{
	if (wf_load_relaxed(word) != expected) /* U5 */
		return -EAGAIN;
	if (WF_UNLIKELY(wf_load_relaxed(&t->exit_work) != 0 ||
			wf_load_relaxed(&t->is_cancelled)) &&
	    wf_ufutex_is_interrupted != NULL && wf_ufutex_is_interrupted(t))
		return -EINTR;
	return 0;
}

struct wait {
	const void *addr;
	uint32_t expected, bits;
	int64_t deadline_ns;
	struct wf_thread *next;
};

/* One wait, in the runtime. Returns the result. */
static int wait_in(struct wf_thread *t, const struct wait *w)
{
	struct wf_bucket *b = bucket_of(w->addr);
	uint64_t mask = wf_signals_close(t);
	int refusal;

	/* Published before exit_work is read: a sender of signals sets
	 * exit_work, then looks for the bucket. The lock is the fence. */
	wf_store_relaxed(&t->wait_bucket, b);
	lock_bucket(b);
	refusal = refusal_locked(t, w->addr, w->expected);
	if (refusal < 0) {
		wf_store_relaxed(&t->wait_bucket, NULL);
		wf_spin_unlock(&b->lock);
		wf_signals_open(t, mask);
		if (w->next != NULL)
			wf_ready_woken(t, w->next);
		return refusal;
	}
	t->wait_addr = w->addr;
	t->wait_bits = w->bits;
	t->wait_generation++; /* U4 */
	enqueue_locked(b, t);
	if (WF_LIKELY(t->kind == WF_THREAD_MULTIPLEXED))
		park_multiplexed(t, b, w->deadline_ns, w->next);
	else
		park_kernel_thread(t, b, w->deadline_ns, mask);
	return t->wait_result;
}

/*
 * A handler that runs in the kernel sleep of an outer wait waits itself: the
 * outer wait has been interrupted, and its outcome is kept for it (U7).
 */
static int wait_in_handler(struct wf_thread *t, const struct wait *w)
{
	int32_t outer_result;
	int result;

	if (t->wait_addr != NULL)
		wf_ufutex_end_wait(t, t->wait_generation, -EINTR, t);
	outer_result = t->wait_result;
	t->wait_was_moved = false;
	result = wait_in(t, w);
	t->wait_result = outer_result;
	return result;
}

static int wait_and_run(struct wait w)
{
	struct wf_thread *t = wf_runtime_enter();
	bool was_moved;
	int result;

	t->interrupted = false;
	if (WF_LIKELY(t->kind == WF_THREAD_MULTIPLEXED)) {
		t->wait_was_moved = false; /* nor is a refused wait */
		result = wait_in(t, &w);
	} else {
		if (w.next != NULL)
			wf_ready_woken(t, w.next);
		w.next = NULL;
		result = wait_in_handler(t, &w);
	}
	was_moved = t->wait_was_moved;
	wf_runtime_leave(t);
	/* A handler may have run and waited. */
	t->wait_was_moved = was_moved;
	if (WF_LIKELY(result != -EINTR) || t->carrier == NULL)
		return result;
	if (wf_load_relaxed(&t->is_cancelled) && wf_ufutex_is_cancelled(t)) {
		/* What the caller has yet to wait for is no such point. */
		t->at_cancel_point = false;
		return -ECANCELED;
	}
	/* A handler with SA_RESTART, or none at all. */
	return t->interrupted ? -EINTR : -ERESTART;
}

int wf_ufutex_wait(const void *addr, uint32_t expected, uint32_t bits,
		   int64_t deadline_ns)
{
	const _Atomic uint32_t *word = addr;

	/* Its page comes in here, where a fault may be rescued. */
	if (wf_load_relaxed(word) != expected)
		return -EAGAIN;
	return wait_and_run(
		(struct wait){ addr, expected, bits, deadline_ns, NULL });
}

int wf_ufutex_wait_and_run(const void *addr, uint32_t expected,
			   int64_t deadline_ns, struct wf_thread *next)
{
	return wait_and_run((struct wait){ addr, expected, WF_UFUTEX_ANY,
					   deadline_ns, next });
}

/* --- waking ------------------------------------------------------------- */

/* Woken threads, gathered under the lock and queued after it. */
struct batch {
	struct wf_thread *first, **end;
};

static void wake_batch(struct batch *batch, struct wf_thread *me)
{
	struct wf_thread *t = batch->first;

	while (t != NULL) {
		struct wf_thread *next = t->next;

		wf_ready_woken(me, t);
		t = next;
	}
}

static void batch_add(struct batch *batch, struct wf_thread *t)
{
	t->next = NULL;
	*batch->end = t;
	batch->end = &t->next;
}

static struct wf_thread *waiter(struct wf_list *link)
{
	return wf_container_of(link, struct wf_thread, wait_link);
}

static int take_locked(struct wf_bucket *b, const void *addr, int nr,
		       uint32_t bits, struct batch *batch)
{
	struct wf_list *link = b->waiters.next;
	int taken = 0;

	while (link != &b->waiters && taken < nr) {
		struct wf_thread *t = waiter(link);

		link = link->next;
		if (t->wait_addr != addr || (t->wait_bits & bits) == 0)
			continue;
		dequeue_locked(t, 0);
		batch_add(batch, t);
		taken++;
	}
	return taken;
}

int wf_ufutex_wake_from(struct wf_thread *me, const void *addr, int nr,
			uint32_t bits)
{
	struct wf_bucket *b = bucket_of(addr);
	struct batch batch = { NULL, &batch.first };
	uint64_t mask = wf_signals_close(me);
	int taken;

	lock_bucket(b);
	taken = take_locked(b, addr, nr, bits, &batch);
	wf_spin_unlock(&b->lock);
	wf_signals_open(me, mask);
	wake_batch(&batch, me);
	return taken;
}

int wf_ufutex_wake(const void *addr, int nr, uint32_t bits)
{
	struct wf_thread *me = wf_runtime_enter();
	int taken = wf_ufutex_wake_from(me, addr, nr, bits);

	wf_runtime_leave(me);
	return taken;
}

static struct wf_thread *first_locked(struct wf_bucket *b, const void *addr,
				      bool *ret_more)
{
	struct wf_thread *first = NULL;

	*ret_more = false;
	for (struct wf_list *l = b->waiters.next; l != &b->waiters;
	     l = l->next) {
		if (waiter(l)->wait_addr != addr)
			continue;
		if (first != NULL) {
			*ret_more = true;
			break;
		}
		first = waiter(l);
	}
	return first;
}

int wf_ufutex_wake_one(const void *addr, wf_ufutex_decide_fn *decide, void *arg)
{
	struct wf_bucket *b = bucket_of(addr);
	struct wf_thread *me = wf_runtime_enter();
	uint64_t mask = wf_signals_close(me);
	struct wf_thread *t;
	int token;
	bool more;

	lock_bucket(b);
	t = first_locked(b, addr, &more);
	token = decide(arg, t != NULL, more);
	if (t != NULL)
		dequeue_locked(t, token);
	wf_spin_unlock(&b->lock);
	wf_signals_open(me, mask);
	if (t != NULL)
		wf_ready_woken(me, t);
	wf_runtime_leave(me);
	return t != NULL ? 1 : 0;
}

static void lock_two(struct wf_bucket *a, struct wf_bucket *b)
{
	lock_bucket(a < b ? a : b);
	if (a != b)
		lock_bucket(a < b ? b : a);
}

static void unlock_two(struct wf_bucket *a, struct wf_bucket *b)
{
	wf_spin_unlock(&a->lock);
	if (a != b)
		wf_spin_unlock(&b->lock);
}

static int move_locked(struct wf_bucket *from_b, const void *from,
		       struct wf_bucket *to_b, const void *to, int nr)
{
	struct wf_list *link = from_b->waiters.next;
	struct wf_list *last = from_b->waiters.prev;
	int moved = 0;

	while (link != &from_b->waiters && moved < nr) {
		struct wf_thread *t = waiter(link);
		bool is_last = link == last;

		link = link->next;
		if (t->wait_addr == from) {
			wf_list_del(&t->wait_link);
			t->wait_addr = to;
			t->wait_was_moved = true;
			enqueue_locked(to_b, t);
			moved++;
		}
		if (is_last)
			break; /* the rest was appended by ourselves */
	}
	return moved;
}

int wf_ufutex_requeue(const void *from, uint32_t expected, int nr_wake,
		      const void *to, int nr_requeue)
{
	const _Atomic uint32_t *word = from;
	struct wf_bucket *from_b = bucket_of(from);
	struct wf_bucket *to_b = bucket_of(to);
	struct batch batch = { NULL, &batch.first };
	struct wf_thread *me;
	uint64_t mask;
	int nr;

	if (wf_load_relaxed(word) != expected)
		return -EAGAIN;
	me = wf_runtime_enter();
	mask = wf_signals_close(me);
	lock_two(from_b, to_b);
	if (wf_load_relaxed(word) == expected) {
		nr = take_locked(from_b, from, nr_wake, WF_UFUTEX_ANY, &batch);
		nr += move_locked(from_b, from, to_b, to, nr_requeue);
	} else {
		nr = -EAGAIN;
	}
	unlock_two(from_b, to_b);
	wf_signals_open(me, mask);
	wake_batch(&batch, me);
	wf_runtime_leave(me);
	return nr;
}

bool wf_ufutex_was_moved(void)
{
	return wf_self->wait_was_moved;
}

/* --- ending a wait otherwise -------------------------------------------- */

static bool end_wait_closed(struct wf_thread *t, const uint64_t *generation,
			    int result, struct wf_thread *me)
{
	struct wf_bucket *b;
	bool is_ours;

	for (;;) {
		b = wf_load_relaxed(&t->wait_bucket);
		if (b == NULL)
			return false;
		wf_spin_lock(&b->lock);
		if (wf_load_relaxed(&t->wait_bucket) == b)
			break;
		wf_spin_unlock(&b->lock); /* requeued meanwhile */
	}
	is_ours = t->wait_addr != NULL &&
		  (generation == NULL || t->wait_generation == *generation);
	if (is_ours)
		dequeue_locked(t, result);
	wf_spin_unlock(&b->lock);
	if (is_ours)
		wf_ready_woken(me, t);
	return is_ours;
}

static bool end_wait(struct wf_thread *t, const uint64_t *generation,
		     int result, struct wf_thread *me)
{
	uint64_t mask;
	bool ended;

	/* weft's own kernel threads have no handlers. */
	if (me == NULL)
		return end_wait_closed(t, generation, result, me);
	mask = wf_signals_close(me);
	ended = end_wait_closed(t, generation, result, me);
	wf_signals_open(me, mask);
	return ended;
}

bool wf_ufutex_end_wait(struct wf_thread *t, uint64_t generation, int result,
			struct wf_thread *me)
{
	return end_wait(t, &generation, result, me);
}

bool wf_ufutex_interrupt(struct wf_thread *t, struct wf_thread *me)
{
	return end_wait(t, NULL, -EINTR, me);
}

void wf_ufutex_fork_child(void)
{
	for (size_t i = 0; i < NR_BUCKETS; i++)
		buckets[i] = (struct wf_bucket){ 0 };
}
