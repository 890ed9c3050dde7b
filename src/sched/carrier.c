/* SPDX-License-Identifier: MIT */
/*
 * A carrier is one memory mapping: struct wf_carrier, a TLS block, a signal
 * stack and a stack. The table `carriers` has all carriers by number and never
 * loses one. Carriers without a VP, the spares, sleep in a list until a thread
 * gives them a VP or a thread to run. To bind a thread, its carrier gives its
 * VP to a spare and keeps the thread. The invariants are in carrier.h.
 */
#include "sched/carrier.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/upcall.h"
#include "libc/tcb.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/carrier_exit.h"
#include "sched/carrier_name.h"
#include "sched/clone_lock.h"
#include "sched/dismiss.h"
#include "sched/registers.h"
#include "sched/reserved.h"
#include "sched/switch.h"

enum {
	/* The margin is for threads that check this limit at the same time. */
	MAX_CARRIERS = 16384,
	CARRIER_MARGIN = 1024,
	STACK_BYTES = 64 * 1024,
	ALTSTACK_BYTES = 64 * 1024, /* starts with struct wf_arch_mark */
	/* The number of handoffs in a row after which weft binds the thread.
	 * Each handoff costs 30 us and up to a tick of delay. */
	HANDOFFS_BEFORE_BIND = 16,
};

uint32_t wf_carrier_setxid_generation;
_Atomic bool wf_carrier_setxid_comes;

static _Atomic(struct wf_carrier *) carriers[MAX_CARRIERS + CARRIER_MARGIN];
static _Atomic uint32_t nr_carriers;
static struct wf_spin spare_lock = WF_SPIN_INIT;
static struct wf_carrier *spares;
/* carriers for which the kernel has refused a kernel thread; CARRIER-4 */
static struct wf_carrier *unborn;
static _Atomic uint32_t nr_spares;
static _Atomic uint32_t nr_starting; /* spares that do not yet wait */
static long timer_slack = 50 * 1000; /* ns; at first Linux's default */

uint32_t wf_carrier_count(void)
{
	return wf_load_acquire(&nr_carriers);
}

struct wf_carrier *wf_carrier_at(uint32_t number)
{
	return wf_load_acquire(&carriers[number]);
}

/* Takes the first carrier of a list under spare_lock, or returns NULL. */
static struct wf_carrier *take(struct wf_carrier **list)
{
	struct wf_carrier *c;

	wf_spin_lock(&spare_lock, WF_RANK_SPARE_CARRIERS);
	c = *list;
	if (c != NULL)
		*list = c->spare_next;
	wf_spin_unlock(&spare_lock);
	return c;
}

/* --- making ------------------------------------------------------------- */

static void init(struct wf_carrier *c, uint32_t number, size_t head)
{
	memset(c, 0, sizeof(*c));
	c->number = number;
	c->altstack = (char *)c + head;
	c->altstack_bytes = WF_ARCH_ALTSTACK_BYTES;
	c->ctx.tp = wf_tcb_minimal_make(c + 1, &c->idle_self);
	c->loaded_tp = c->ctx.tp;
	*(struct wf_arch_mark *)c->altstack = (struct wf_arch_mark){
		.magic = WF_ARCH_MARK_MAGIC,
		.tp = &c->loaded_tp,
	};
	c->idle_self.carrier = c;
	c->idle_self.kind = WF_THREAD_MULTIPLEXED;
	wf_store_relaxed(&c->idle_self.in_runtime, 1);
}

/* Takes an unused carrier's memory, or maps a struct, TLS block and stacks. */
static struct wf_carrier *new_carrier(void **ret_stack_top)
{
	size_t head = wf_align_up(
		sizeof(struct wf_carrier) + wf_tcb_minimal_bytes(), WF_PAGE);
	size_t bytes = head + ALTSTACK_BYTES + WF_PAGE + STACK_BYTES;
	struct wf_carrier *c;
	uint32_t number;

	c = take(&unborn);
	if (c == NULL)
		c = wf_carrier_reclaim();
	if (c != NULL) {
		init(c, c->number, head);
		*ret_stack_top = (char *)c + bytes;
		return c;
	}
	if (wf_load_relaxed(&nr_carriers) >= MAX_CARRIERS)
		return NULL;
	c = wf_os_reserve(bytes);
	if (c == NULL)
		return NULL;
	number = atomic_fetch_add(&nr_carriers, 1);
	WF_CHECK(number < MAX_CARRIERS + CARRIER_MARGIN, "too many carriers");
	wf_os_guard((char *)c + head + ALTSTACK_BYTES, WF_PAGE);
	init(c, number, head);
	*ret_stack_top = (char *)c + bytes;
	wf_count(carriers);
	/* release: publishes the carrier; pairs with wf_carrier_at. */
	wf_store_release(&carriers[number], c);
	return c;
}

static void set_altstack(struct wf_carrier *c)
{
	stack_t ss = { .ss_sp = c->altstack, .ss_size = c->altstack_bytes };

	/* The process's first thread keeps its signal stack while its signals
	 * are native. */
	if (wf_self->has_native_signals)
		return;
	wf_sys(SYS_sigaltstack, &ss, NULL);
}

static void begin(struct wf_carrier *c)
{
	set_altstack(c);
	wf_store_release(&c->tid, wf_os_gettid());
	wf_carrier_name_begin(c);
	wf_upcall.carrier_begins(c);
}

static void carrier_thread(void *arg)
{
	/* The TLS may be a former carrier's, with its set of held locks. */
	wf_ranks_carried(0);
	begin(arg);
	wf_registers_begin_carrier();
	/* A clone inherits timer slack, which its maker may have changed. */
	if (!((struct wf_carrier *)arg)->is_altered)
		wf_os_set_timer_slack(timer_slack);
	/* Opens weft's own signal, which asks for changes of credentials. */
	wf_carrier_set_mask(arg, UINT64_MAX);
	wf_upcall.carrier_main(arg);
}

/* The first switch to the adopted carrier's own stack and TLS enters here. */
static void adopted_entry(void)
{
	struct wf_carrier *c = wf_self->carrier;

	c->post(c, c->post_arg);
	wf_upcall.carrier_main(c);
}

struct wf_carrier *wf_carrier_adopt(struct wf_vp *vp)
{
	void *top;
	struct wf_carrier *c = new_carrier(&top);

	if (c == NULL)
		return NULL;
	c->ctx.sp = wf_arch_context_make(top, adopted_entry,
					 WF_ARCH_FP_CONTROL_INITIAL);
	c->loaded_tp = wf_cpu_thread_register();
	wf_store_relaxed(&c->vp, vp);
	vp->carrier = c;
	timer_slack = wf_os_timer_slack();
	begin(c);
	return c;
}

static int spawn(struct wf_carrier *c, void *top)
{
	uint64_t mask;
	int tid;

	/* Signals stay open during the wait: the holder of the lock may be
	 * waiting until this carrier has changed its credentials. */
	wf_clone_lock();
	/* Signals stay closed until the new carrier has its altstack. */
	mask = wf_os_close_signals();
	/* The clone inherits the credentials, so it need not change them. */
	wf_store_relaxed(&c->setxid_seen, wf_carrier_setxid_generation);
	tid = wf_os_kthread_start(carrier_thread, c, top, c->ctx.tp,
				  &wf_sched.monitor_asleep);
	/* Stored before the unlock: changes of credentials find it. */
	if (tid > 0)
		wf_store_release(&c->tid, tid);
	wf_os_set_signal_mask(mask);
	wf_clone_unlock();
	return tid;
}

/* c stays in the table with tid 0, for the next spawn. No thread uses it. */
static void keep_unborn(struct wf_carrier *c)
{
	c->bound = NULL;
	c->is_altered = false;
	wf_store_relaxed(&c->vp, NULL);
	wf_spin_lock(&spare_lock, WF_RANK_SPARE_CARRIERS);
	c->spare_next = unborn;
	unborn = c;
	wf_spin_unlock(&spare_lock);
}

static void say_no_carrier(int err)
{
	static _Atomic bool said;

	/* During an exec, too, the kernel refuses clones with EAGAIN. */
	if (err == -EAGAIN && wf_load_relaxed(&wf_os_execs) != 0)
		return;
	if (!atomic_exchange(&said, true))
		wf_log("cannot make another kernel thread (error %d): threads "
		       "that block in system calls will delay others; raise "
		       "the limit on processes (ulimit -u)",
		       -err);
}

int wf_carrier_spawn(struct wf_vp *vp)
{
	void *top;
	struct wf_carrier *c = new_carrier(&top);
	int tid;

	if (c == NULL) {
		say_no_carrier(-ENOMEM);
		return -ENOMEM;
	}
	wf_store_relaxed(&c->vp, vp);
	if (vp != NULL)
		vp->carrier = c;
	tid = spawn(c, top);
	if (tid < 0) {
		keep_unborn(c);
		say_no_carrier(tid);
		return tid;
	}
	return 0;
}

int wf_carrier_ensure_spare(void)
{
	uint32_t none = 0;
	int err;

	if (wf_load_relaxed(&nr_spares) > 0)
		return 0;
	if (wf_self != NULL && wf_carrier_is_altered(wf_self))
		return 0; /* CARRIER-5: an altered carrier makes none */
	if (!wf_cas_acq_rel(&nr_starting, &none, 1))
		return 0;
	err = wf_carrier_spawn(NULL);
	if (err < 0)
		wf_store_release(&nr_starting, 0);
	return err;
}

/* --- spare carriers ----------------------------------------------------- */

void wf_carrier_put_back(struct wf_carrier *c)
{
	wf_spin_lock(&spare_lock, WF_RANK_SPARE_CARRIERS);
	c->spare_next = spares;
	spares = c;
	atomic_fetch_add(&nr_spares, 1);
	wf_spin_unlock(&spare_lock);
}

struct wf_carrier *wf_carrier_take_spare(void)
{
	struct wf_carrier *c = take(&spares);

	if (c != NULL)
		atomic_fetch_sub(&nr_spares, 1);
	return c;
}

/* Called when t has just become the only thread of its carrier. */
static void begin_bound(const struct wf_thread *t)
{
	wf_count(binds);
	wf_carrier_name_bound(t->carrier, t);
	wf_upcall.thread_bound(t);
}

void wf_carrier_wait_for_vp(struct wf_carrier *c)
{
	if (WF_UNLIKELY(wf_load_acquire(&c->is_dismissed))) {
		wf_dismiss_end(c);
		return;
	}
	if (c->is_altered)
		wf_carrier_exit(c);
	wf_carrier_name_spare(c);
	wf_store_relaxed(&c->wake_word, 0);
	if (!c->is_altered) /* an altered carrier sleeps for ever */
		wf_carrier_put_back(c);
	wf_store_release(&nr_starting, 0);
	wf_carrier_sleep(c);
	if (wf_load_relaxed(&c->reserved_for) != 0)
		begin_bound(c->bound);
}

void wf_carrier_give(struct wf_carrier *c, struct wf_vp *vp)
{
	wf_store_relaxed(&vp->cur, NULL);
	vp->carrier = c;
	wf_store_relaxed(&c->vp, vp);
	wf_carrier_wake(c);
}

void wf_carrier_give_bound(struct wf_carrier *c, struct wf_thread *t)
{
	/* no mark: CPU_TIME-3 in cpu_time.c */
	wf_store_relaxed(&c->cpu_mark, 0);
	c->bound = t;
	wf_carrier_wake(c);
}

struct wf_carrier *wf_carrier_need_spare(void)
{
	if (wf_carrier_is_altered(wf_self))
		return wf_carrier_need_spare_altered();
	for (;;) {
		struct wf_carrier *c = wf_carrier_take_spare();

		if (c != NULL)
			return c;
		if (wf_carrier_ensure_spare() < 0)
			return NULL;
		wf_sys(SYS_sched_yield);
	}
}

/* --- binding ------------------------------------------------------------ */

static bool go_to_reserved(struct wf_thread *t)
{
	wf_post_fn *post = wf_reserved_go_begin(t);

	if (post == NULL)
		return false;
	wf_switch_to_carrier(t, post, t);
	return true;
}

bool wf_carrier_bind(struct wf_thread *t, enum wf_bound_why why)
{
	struct wf_carrier *c = t->carrier, *spare;
	struct wf_vp *vp = t->vp;

	if (t->kind != WF_THREAD_MULTIPLEXED || go_to_reserved(t))
		return true;
	spare = wf_carrier_need_spare();
	if (spare == NULL)
		return false;
	if (!wf_reserved_stay(t)) {
		wf_carrier_put_back(spare);
		return go_to_reserved(t);
	}
	/* c gives vp away before the spare may run it (VP-1). */
	wf_store_relaxed(&c->vp, NULL);
	t->vp = NULL;
	c->bound = t;
	c->bound_why = (uint8_t)why;
	wf_carrier_give(spare, vp);
	begin_bound(t);
	return true;
}

void wf_carrier_hand_off(struct wf_thread *t)
{
	struct wf_carrier *spare;
	uint32_t old = WF_RETAKE_NONE;

	if (t->kind != WF_THREAD_MULTIPLEXED)
		return;
	spare = wf_carrier_need_spare();
	if (spare == NULL)
		return;
	/* retake: NONE or ASK -> TAKEN. A CAS of the monitor's then fails. */
	while (!wf_cas_acq_rel(&t->retake, &old, WF_RETAKE_TAKEN))
		;
	wf_carrier_give(spare, t->vp);
}

bool wf_carrier_bind_without_vp(struct wf_thread *t)
{
	struct wf_carrier *c = t->carrier;

	/* A thread with a reserved carrier goes there once it has a VP
	 * again. */
	if (t->nr_handoffs < HANDOFFS_BEFORE_BIND || !wf_reserved_stay(t))
		return false;
	t->vp = NULL;
	c->bound = t;
	c->bound_why = WF_BOUND_BLOCKS;
	wf_store_relaxed(&c->vp, NULL);
	wf_store_relaxed(&t->retake, WF_RETAKE_NONE);
	begin_bound(t);
	return true;
}

int wf_carrier_start_bound(struct wf_thread *t, const cpu_set_t *affinity)
{
	bool is_altered = wf_carrier_is_altered(wf_self);
	uint8_t why = affinity != NULL ? WF_BOUND_AFFINITY : WF_BOUND_OPTION;
	struct wf_carrier *c = NULL;
	void *top;
	int tid;

	/* A kernel thread cloned by an altered carrier inherits the changes, so
	 * an altered creator takes no spare: it clones. */
	if (!is_altered)
		c = affinity != NULL ? wf_carrier_need_spare() :
				       wf_carrier_take_spare();
	if (c != NULL && affinity != NULL)
		wf_sys(SYS_sched_setaffinity, wf_load_relaxed(&c->tid),
		       sizeof(*affinity), affinity);
	if (c != NULL) {
		t->carrier = c;
		c->bound_why = why;
		wf_carrier_give_bound(c, t);
		/* Replaces the spare, which a carrier that blocks may need. */
		wf_carrier_ensure_spare();
		return 0;
	}
	c = new_carrier(&top);
	if (c == NULL)
		return -EAGAIN;
	c->bound = t;
	c->bound_why = is_altered ? WF_BOUND_CREATOR : why;
	t->carrier = c;
	c->is_altered = is_altered;
	c->has_own_files = is_altered && wf_self->carrier->has_own_files;
	tid = spawn(c, top);
	if (tid < 0) {
		keep_unborn(c);
		/* As in glibc, pthread_create fails with EAGAIN, not ENOMEM. */
		return tid == -ENOMEM ? -EAGAIN : tid;
	}
	if (affinity != NULL)
		wf_sys(SYS_sched_setaffinity, tid, sizeof(*affinity), affinity);
	return 0;
}

static void reset(void)
{
	spare_lock = WF_SPIN_INIT;
	wf_clone_lock_fork_child();
	spares = unborn = NULL;
	wf_carrier_setxid_generation = 0;
	wf_store_relaxed(&wf_carrier_setxid_comes, false);
	wf_carrier_exit_fork_child();
	wf_store_relaxed(&nr_spares, 0);
	wf_store_relaxed(&nr_starting, 0);
}

void wf_carrier_forget(void)
{
	uint32_t nr = wf_carrier_count();

	reset();
	for (uint32_t i = 0; i < nr; i++) {
		struct wf_carrier *c = wf_carrier_at(i);

		wf_store_relaxed(&c->tid, 0);
		wf_store_relaxed(&c->reserved_for, 0);
		keep_unborn(c);
	}
}

void wf_carrier_fork_child(void)
{
	uint32_t nr = wf_carrier_count();

	for (uint32_t i = 0; i < nr; i++)
		wf_store_relaxed(&carriers[i], NULL);
	wf_store_relaxed(&nr_carriers, 0);
	reset();
}
