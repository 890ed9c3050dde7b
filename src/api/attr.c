/* SPDX-License-Identifier: MIT */
/*
 * Attribute objects have libc's layout; weft reads them by libc's getters. The
 * last results are remembered, since libc's getters take locks.
 *
 * Rejected: to bind threads with PTHREAD_SCOPE_SYSTEM. It is libc's only scope,
 * and portable programs (CPython, MySQL) set it without need.
 */
#include "api/attr.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <string.h>

#include "api/api.h"
#include "base/options.h"
#include "libc/object.h"
#include "libc/real.h"
#include "mem/slot.h"
#include "os/mem.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "thread/affinity.h"
#include "thread/own_runtime.h"
#include "thread/policy.h"
#include "thread/scope.h"

/* libc's default stack size: any other one was set by the program. */
static size_t libc_default_stack(void)
{
	pthread_attr_t fresh;
	size_t bytes = 0;

	pthread_attr_init(&fresh);
	pthread_attr_getstacksize(&fresh, &bytes);
	pthread_attr_destroy(&fresh);
	return bytes;
}

static size_t stack_bytes(const pthread_attr_t *attr)
{
	static _Atomic size_t libc_default;
	size_t bytes = 0;

	pthread_attr_getstacksize(attr, &bytes);
	if (wf_options.stack_size == 0)
		return bytes;
	if (wf_load_relaxed(&libc_default) == 0)
		wf_store_relaxed(&libc_default, libc_default_stack());
	return bytes == wf_load_relaxed(&libc_default) ?
		       wf_slot_default_stack_bytes() :
		       bytes;
}

/* Does attr have all the bits that a setter of libc has set in `with`? */
static bool has_bits_of(const pthread_attr_t *attr, const pthread_attr_t *with)
{
	const char *has = (const char *)attr, *needs = (const char *)with;
	pthread_attr_t plain;

	pthread_attr_init(&plain);
	for (size_t i = 0; i < sizeof(plain); i++) {
		if ((needs[i] & ~((const char *)&plain)[i] & ~has[i]) != 0)
			return false;
	}
	return true;
}

/*
 * A setter that is called with policy or priority 0 changes only libc's marks.
 */
static bool is_policy_set(const pthread_attr_t *attr)
{
	pthread_attr_t with;

	pthread_attr_init(&with);
	pthread_attr_setschedpolicy(&with, SCHED_OTHER);
	return has_bits_of(attr, &with);
}

static bool is_priority_set(const pthread_attr_t *attr)
{
	const struct sched_param none = { .sched_priority = 0 };
	pthread_attr_t with;

	pthread_attr_init(&with);
	pthread_attr_setschedparam(&with, &none);
	return has_bits_of(attr, &with);
}

/*
 * PTHREAD_EXPLICIT_SCHED. As with libc, if policy or priority is not set, the
 * caller's is used. If neither is set, both are the caller's as libc knows
 * them. Fails if the kernel would not permit them.
 */
static int read_policy(const pthread_attr_t *attr, struct wf_thread_params *p)
{
	const struct wf_thread *me = wf_thread_self();
	bool has_policy, has_priority;
	int inherit = PTHREAD_INHERIT_SCHED, policy = me->sched_policy;
	struct sched_param param = { .sched_priority = me->sched_priority };

	pthread_attr_getinheritsched(attr, &inherit);
	p->has_policy = inherit == PTHREAD_EXPLICIT_SCHED;
	if (!p->has_policy)
		return 0;
	has_policy = is_policy_set(attr);
	has_priority = is_priority_set(attr);
	if (has_policy || (!has_priority && !me->libc_knows_policy))
		pthread_attr_getschedpolicy(attr, &policy);
	if (has_priority || (!has_policy && !me->libc_knows_policy))
		pthread_attr_getschedparam(attr, &param);
	p->policy = (int8_t)policy;
	p->priority = (int8_t)param.sched_priority;
	return wf_policy_check_made(me, policy, param.sched_priority);
}

static int read_attr(const pthread_attr_t *attr, struct wf_thread_params *p)
{
	void *stack_end = NULL;
	size_t guard_bytes = 0, bytes;
	int detach = 0;
	int err = read_policy(attr, p);

	if (err < 0)
		return err;
	pthread_attr_getdetachstate(attr, &detach);
	p->is_detached = detach == PTHREAD_CREATE_DETACHED;
	/* Only this deprecated getter returns NULL if no stack is set. */
	wf_real.pthread_attr_getstackaddr(attr, &stack_end);
	if (stack_end != NULL) {
		pthread_attr_getstack(attr, &p->user_stack,
				      &p->user_stack_bytes);
		p->class = wf_slot_class_get(0, 0);
		p->stack_slack = 0;
		return p->user_stack_bytes < (size_t)PTHREAD_STACK_MIN ?
			       -EINVAL :
			       0;
	}
	pthread_attr_getguardsize(attr, &guard_bytes);
	if (__builtin_add_overflow(stack_bytes(attr), guard_bytes, &bytes))
		return -EINVAL;
	p->class = wf_slot_class_get(stack_bytes(attr), guard_bytes);
	if (p->class != NULL)
		p->stack_slack = wf_slot_slack(p->class, stack_bytes(attr));
	return 0;
}

static int read_default(struct wf_thread_params *p)
{
	pthread_attr_t attr;
	int err = wf_real.pthread_getattr_default_np(&attr);

	if (err != 0)
		return -err;
	err = read_attr(&attr, p);
	pthread_attr_destroy(&attr);
	return err;
}

/* --- results remembered --------------------------------------------------- */

/*
 * A memo has the parameters for an attribute object. It is valid while the
 * object's bytes and the number of changes of the defaults stay the same. The
 * getters read only these bytes.
 *
 * ATTR-1. version is odd while a thread writes the memo. A reader that reads
 *     the same even number before and after has consistent values.
 * ATTR-2. The memo for no attribute object is only written while the defaults
 *     have neither a mask nor CPUs, and each change of the defaults makes it
 *     invalid. So the fast path does not ask for these.
 */
enum { ATTR_WORDS = sizeof(pthread_attr_t) / sizeof(uint64_t), NR_MEMOS = 4 };

struct memo {
	_Atomic uint32_t version; /* ATTR-1; 0: never written */
	_Atomic bool is_detached;
	_Atomic uint16_t stack_slack;
	_Atomic(struct wf_slot_class *) class;
	_Atomic uint64_t nr_changes;
	_Atomic uint64_t words[ATTR_WORDS];
} WF_ALIGNED(WF_CACHE_LINE);

static struct memo memos[NR_MEMOS], memo_of_none;
static _Atomic uint64_t nr_default_changes;

/* Words of an attribute object, which has another type for the compiler. */
typedef uint64_t attr_word __attribute__((may_alias));

/* A few memos suffice: programs have few attribute objects. */
static struct memo *memo_of(const attr_word *words)
{
	uintptr_t a = (uintptr_t)words;

	return words == NULL ? &memo_of_none :
			       &memos[(a >> 3 ^ a >> 6) % NR_MEMOS];
}

static uint64_t differences(const struct memo *m, const attr_word *words)
{
	uint64_t differ = 0;

#pragma GCC unroll 7
	for (size_t i = 0; i < ATTR_WORDS; i++)
		differ |= wf_load_relaxed(&m->words[i]) ^ words[i];
	return differ;
}

WF_INLINE bool recall(struct memo *m, const attr_word *words,
		      uint64_t nr_changes, struct wf_thread_params *ret_params)
{
	/* acquire: pairs with the last store in remember(). */
	uint32_t version = wf_load_acquire(&m->version);
	uint64_t differ = wf_load_relaxed(&m->nr_changes) ^ nr_changes;

	if (words != NULL)
		differ |= differences(m, words);
	ret_params->class = wf_load_relaxed(&m->class);
	ret_params->is_detached = wf_load_relaxed(&m->is_detached);
	ret_params->stack_slack = wf_load_relaxed(&m->stack_slack);
	ret_params->user_stack = NULL;
	ret_params->has_policy = false;
	/* The loads above come before the one below. */
	atomic_thread_fence(memory_order_acquire);
	return differ == 0 && version != 0 && version % 2 == 0 &&
	       wf_load_relaxed(&m->version) == version;
}

static void remember(struct memo *m, const attr_word *words,
		     uint64_t nr_changes, const struct wf_thread_params *p)
{
	uint32_t version = wf_load_relaxed(&m->version);

	/* Another thread writes it now: this result is not remembered. */
	if (version % 2 != 0 ||
	    !wf_cas_acq_rel(&m->version, &version, version + 1))
		return;
	atomic_thread_fence(memory_order_release);
	wf_store_relaxed(&m->nr_changes, nr_changes);
	for (size_t i = 0; words != NULL && i < ATTR_WORDS; i++)
		wf_store_relaxed(&m->words[i], words[i]);
	wf_store_relaxed(&m->class, p->class);
	wf_store_relaxed(&m->is_detached, p->is_detached);
	wf_store_relaxed(&m->stack_slack, p->stack_slack);
	/* release: pairs with the first load in recall(). */
	wf_store_release(&m->version, version + 2);
}

/*
 * A signal mask and an affinity are outside the object, behind a pointer in one
 * of its words; find_extension() finds that word. If it is NULL, neither is
 * set. If not, they may have changed, so libc's getters are called.
 *
 * 1 + the word's number; 0: not known.
 */
static _Atomic uint32_t extension;

static WF_COLD void find_extension(void)
{
	const cpu_set_t cpus = { { 1 } };
	pthread_attr_t plain, masked, placed;
	const attr_word *words[] = { (attr_word *)&plain, (attr_word *)&masked,
				     (attr_word *)&placed };
	uint32_t found = 0;
	sigset_t mask;

	sigemptyset(&mask);
	pthread_attr_init(&plain);
	pthread_attr_init(&masked);
	pthread_attr_init(&placed);
	if (pthread_attr_setsigmask_np(&masked, &mask) == 0 &&
	    pthread_attr_setaffinity_np(&placed, sizeof(cpus), &cpus) == 0) {
		for (uint32_t i = 0; i < ATTR_WORDS; i++) {
			if (words[0][i] == 0 && words[1][i] != 0 &&
			    words[2][i] != 0)
				found = found == 0 ? i + 1 : UINT32_MAX;
		}
	}
	pthread_attr_destroy(&masked);
	pthread_attr_destroy(&placed);
	if (found != UINT32_MAX)
		wf_store_relaxed(&extension, found);
}

static bool may_have_extension(const attr_word *words)
{
	uint32_t found = wf_load_relaxed(&extension);

	return words != NULL && (found == 0 || words[found - 1] != 0);
}

/* Whether the default attributes have CPUs and a signal mask. */
static _Atomic bool has_default_affinity;
static _Atomic bool has_default_sigmask;
static _Atomic uint64_t default_sigmask;

static bool get_sigmask(const pthread_attr_t *attr, uint64_t *ret_mask)
{
	sigset_t mask;

	if (pthread_attr_getsigmask_np(attr, &mask) != 0)
		return false;
	memcpy(ret_mask, &mask, sizeof(*ret_mask));
	return true;
}

static void read_default_sigmask(struct wf_thread_params *p)
{
	/* acquire: pairs with the release in pthread_setattr_default_np. */
	p->has_sigmask = wf_load_acquire(&has_default_sigmask);
	if (WF_UNLIKELY(p->has_sigmask))
		p->sigmask = wf_load_relaxed(&default_sigmask);
}

/* libc's getter gives a set of ones if there is none: one word suffices. */
static bool has_affinity(const pthread_attr_t *attr)
{
	unsigned long word;

	return pthread_attr_getaffinity_np(attr, sizeof(word),
					   (cpu_set_t *)&word) != 0 ||
	       word != ULONG_MAX;
}

static WF_COLD int read_affinity(const pthread_attr_t *attr,
				 struct wf_thread_params *p)
{
	int err;

	if (!has_affinity(attr))
		return 0;
	err = pthread_attr_getaffinity_np(attr, sizeof(p->affinity),
					  &p->affinity);
	if (err == 0)
		err = -wf_affinity_check(sizeof(p->affinity), &p->affinity,
					 &p->has_affinity);
	p->is_bound |= p->has_affinity;
	return -err;
}

static WF_COLD int read_extension(const pthread_attr_t *attr,
				  struct wf_thread_params *p)
{
	p->has_sigmask = get_sigmask(attr, &p->sigmask);
	return read_affinity(attr, p);
}

static WF_COLD int read_default_affinity(struct wf_thread_params *p)
{
	pthread_attr_t attr;
	int err = wf_real.pthread_getattr_default_np(&attr);

	if (err != 0)
		return -err;
	err = read_affinity(&attr, p);
	pthread_attr_destroy(&attr);
	return err;
}

/* Sets the parameters that do not depend on the object's bytes. */
static inline void set_others(void *(*start)(void *),
			      struct wf_thread_params *ret_params)
{
	ret_params->is_bound = wf_scope_matches((void *)start);
	ret_params->has_affinity = false;
	ret_params->has_sigmask = false;
}

/* Reads the attributes. Not inline: the fast path needs no frame for it. */
static WF_NOINLINE int to_params_slow(const pthread_attr_t *attr,
				      void *(*start)(void *),
				      uint64_t nr_changes,
				      struct wf_thread_params *ret_params)
{
	const attr_word *words = (const attr_word *)attr;
	int err;

	if (words != NULL && wf_load_relaxed(&extension) == 0)
		find_extension();
	ret_params->user_stack = NULL;
	ret_params->has_policy = false;
	err = attr != NULL ? read_attr(attr, ret_params) :
			     read_default(ret_params);
	if (err == 0 && ret_params->user_stack == NULL &&
	    !ret_params->has_policy && ret_params->class != NULL &&
	    (words != NULL || !(wf_load_relaxed(&has_default_sigmask) ||
				wf_load_relaxed(&has_default_affinity))))
		remember(memo_of(words), words, nr_changes, ret_params);
	set_others(start, ret_params);
	if (attr == NULL) {
		read_default_sigmask(ret_params);
		if (err == 0 && wf_load_relaxed(&has_default_affinity))
			err = read_default_affinity(ret_params);
	} else if (err == 0 && may_have_extension(words)) {
		err = read_extension(attr, ret_params);
	}
	return err;
}

int wf_attr_to_params(const pthread_attr_t *attr, void *(*start)(void *),
		      struct wf_thread_params *ret_params)
{
	const attr_word *words = (const attr_word *)attr;
	/* acquire: pairs with the release in pthread_setattr_default_np. */
	uint64_t nr_changes = wf_load_acquire(&nr_default_changes) << 1 |
			      wf_load_relaxed(&wf_slots_are_tight);

	if (WF_UNLIKELY((words != NULL && may_have_extension(words)) ||
			!recall(memo_of(words), words, nr_changes, ret_params)))
		return to_params_slow(attr, start, nr_changes, ret_params);
	set_others(start, ret_params);
	return 0;
}

WF_API(int, pthread_setattr_default_np, const pthread_attr_t *attr)
{
	int err = wf_real.pthread_setattr_default_np(attr);
	uint64_t mask;
	bool has_mask = err == 0 && get_sigmask(attr, &mask);

	if (has_mask)
		wf_store_relaxed(&default_sigmask, mask);
	if (err == 0)
		wf_store_relaxed(&has_default_affinity, has_affinity(attr));
	if (err == 0) /* release: pairs with read_default_sigmask(). */
		wf_store_release(&has_default_sigmask, has_mask);
	/* release: pairs with the acquire in wf_attr_to_params. */
	atomic_fetch_add_explicit(&nr_default_changes, 1, memory_order_release);
	return err;
}

/*
 * A thread that begins may exchange its stack (sched/table.h). From here on t
 * keeps its stack. If t was claimed before it could read the word, it will soon
 * run on its final stack: its carrier is set then.
 */
static void keep_stack(struct wf_thread *t)
{
	wf_store_relaxed(&t->slot.keeps_stack, true);
	/* Pairs with the compare-and-swap of wf_thread_claim. */
	atomic_thread_fence(memory_order_seq_cst);
	/* A real-time thread has its own stack, and may wait for this VP. */
	while (wf_load_relaxed(&t->not_started) == 0 && t->rt_priority == 0 &&
	       *(struct wf_carrier *volatile *)&t->carrier == NULL)
		wf_sched_yield();
}

/* Adds the CPUs of t. As in libc, pthread_attr_destroy frees their memory. */
static int add_affinity(struct wf_thread *t, pthread_attr_t *attr)
{
	cpu_set_t set;

	if (wf_affinity_get(t, sizeof(set), &set) != 0)
		return 0; /* more CPUs than the set has, or none known */
	return pthread_attr_setaffinity_np(attr, sizeof(set), &set);
}

/* Adds policy and priority only where libc would know them. */
static void add_policy(const struct wf_thread *t, pthread_attr_t *attr)
{
	const struct sched_param param = { .sched_priority =
						   t->sched_priority };

	if (t->made_with_policy)
		pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
	if (!t->libc_knows_policy)
		return;
	pthread_attr_setschedpolicy(attr, t->sched_policy);
	pthread_attr_setschedparam(attr, &param);
}

WF_API(int, pthread_getattr_np, pthread_t thread, pthread_attr_t *attr)
{
	struct wf_thread *t = wf_thread_of(thread);
	const struct wf_slot *s = t != NULL ? &t->slot : NULL;
	size_t bytes;

	if (t == wf_self && wf_object_has_runtime(__builtin_return_address(0)))
		wf_own_runtime_enter(); /* OWN_RUNTIME-2 */
	if (s == NULL || s->class == NULL) {
		int err = wf_real.pthread_getattr_np(thread, attr);

		if (err == 0 && t != NULL)
			add_policy(t, attr);
		return err;
	}
	keep_stack(t);
	bytes = wf_slot_asked_bytes(s, t->stack_slack);
	pthread_attr_init(attr);
	pthread_attr_setstack(attr, wf_slot_stack_end(s) - bytes, bytes);
	pthread_attr_setguardsize(attr, wf_slot_guard_bytes(s));
	if ((wf_load_relaxed(&t->exit_state) & WF_EXIT_DETACHED) != 0)
		pthread_attr_setdetachstate(attr, PTHREAD_CREATE_DETACHED);
	add_policy(t, attr);
	return add_affinity(t, attr);
}
