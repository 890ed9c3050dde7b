/*
 * PROMISE-1. c->promised_to is the tid of a thread that c is or will be the
 *     carrier of. It is set, and a thread's kind goes from multiplexed to
 *     bound, under the lock: so nobody is promised a carrier when it has one.
 * PROMISE-2. Until its thread comes a promised carrier sleeps, in no list of
 *     spares. What was promised to a thread that has ended exits: somebody has
 *     changed it.
 */
#include "sched/promise.h"

#include "sched/carrier.h"

static struct wf_spin lock = WF_SPIN_INIT; /* PROMISE-1 */
static _Atomic bool has_any;		   /* set once */

static struct wf_carrier *find_promised(const struct wf_thread *t)
{
	int32_t tid = t->tid; /* 0 once its slot is free */
	uint32_t nr;

	if (!wf_load_acquire(&has_any) || tid <= 0)
		return NULL;
	nr = wf_carrier_count();
	for (uint32_t i = 0; i < nr; i++) {
		struct wf_carrier *c = wf_carrier_at(i);

		if (c != NULL && wf_load_acquire(&c->promised_to) == tid)
			return c;
	}
	return NULL;
}

struct wf_carrier *wf_promise_find(const struct wf_thread *t)
{
	struct wf_carrier *c = find_promised(t);

	/* t->carrier is the one that t leaves until it has come. */
	if (c != NULL || t->kind != WF_THREAD_BOUND)
		return c;
	return t->carrier;
}

struct wf_carrier *wf_promise_make(struct wf_thread *t)
{
	struct wf_carrier *c = wf_promise_find(t), *spare;

	if (c != NULL)
		return c;
	spare = wf_carrier_need_spare();
	if (spare == NULL)
		return NULL;
	wf_spin_lock(&lock);
	c = wf_promise_find(t);
	if (c == NULL) {
		c = spare;
		/* release: pairs with find_promised. */
		wf_store_release(&c->promised_to, t->tid);
		wf_store_release(&has_any, true);
		atomic_fetch_or(&t->exit_work, WF_WORK_BIND);
	}
	wf_spin_unlock(&lock);
	if (c != spare)
		wf_carrier_put_back(spare);
	/* It was kept for a carrier that blocks: the caller's may do next. */
	wf_carrier_ensure_spare();
	return c;
}

/* t is off its stack. */
static void hand_over(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg;

	t->vp = NULL;
	wf_carrier_give_bound(find_promised(t), t);
}

wf_post_fn *wf_promise_keep_begin(struct wf_thread *t)
{
	bool goes;

	wf_spin_lock(&lock);
	goes = t->kind == WF_THREAD_MULTIPLEXED && find_promised(t) != NULL;
	if (goes) {
		atomic_fetch_and(&t->exit_work, ~(uint32_t)WF_WORK_BIND);
		t->kind = WF_THREAD_BOUND;
	}
	wf_spin_unlock(&lock);
	return goes ? hand_over : NULL;
}

bool wf_promise_stay(struct wf_thread *t)
{
	bool stays;

	wf_spin_lock(&lock);
	stays = find_promised(t) == NULL;
	if (stays)
		t->kind = WF_THREAD_BOUND;
	wf_spin_unlock(&lock);
	return stays;
}

void wf_promise_end(struct wf_thread *t)
{
	bool is_late = t->kind == WF_THREAD_MULTIPLEXED;
	struct wf_carrier *c;

	if (is_late && (wf_load_relaxed(&t->exit_work) & WF_WORK_BIND) == 0)
		return;
	c = find_promised(t);
	if (c == NULL)
		return;
	if (is_late)
		c->is_altered = true; /* PROMISE-2 */
	wf_store_release(&c->promised_to, 0);
	if (is_late)
		wf_carrier_wake(c);
}

void wf_promise_fork_child(void)
{
	lock = WF_SPIN_INIT;
}
