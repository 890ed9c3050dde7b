/*
 * The keeper: a kernel thread that makes server processes, tells of what they
 * have done, and sees to those that have ended.
 *
 * KEEPER-1. A server process marks itself and clears the keeper's word when
 *     there is something to be told; the kernel clears it when a process ends,
 *     after it has marked the process's owner word. So the keeper, which sets
 *     its word before it looks, sleeps only if there is nothing to see.
 * KEEPER-2. A process that is killed after the exchange that made its job
 *     COMPLETE, and before it told, is one that has ended: its job is found
 *     complete.
 * KEEPER-3. A process is waited for, and its id becomes another's, only when
 *     nobody can find it in the table any more.
 * KEEPER-4. A process dies with the kernel thread that has made it. Carriers
 *     may exit, the keeper does not: it makes them all, at the request of who
 *     needs one and waits for its id.
 * KEEPER-5. Where a thread that computes has the VP which the job came from,
 *     the server itself sends its carrier the preemption signal, whose handler
 *     completes what is marked: two switches between kernel threads less.
 *     Nothing depends on it. A mark stays until somebody has taken it, and a
 *     server that finds its own there after a tick asks the keeper. Of those
 *     that tell one carrier the first signals; the handler clears is_told
 *     before it looks at the marks. If the first was killed before its signal
 *     they are a tick late, until the carrier gets any. A handler that comes
 *     where nobody is preempted wakes the keeper.
 *
 * Rejected: a descriptor for each process. The program would have that many
 * less. Rejected: SIGCHLD or a wait for any child: both are the program's.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/wait.h>

#include "io/server_table.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/idle.h"
#include "sched/preempt.h"
#include "sched/ready.h"
#include "sched/vp_io.h"
#include "trace/counters.h"

enum {
	NR_SETS = (WF_NR_SERVERS + 63) / 64,
	TICK_NS = WF_NS_PER_MS,
};

static _Atomic uint32_t word; /* futex: 1 with nothing to see */
static _Atomic uint64_t to_tell[NR_SETS], to_make[NR_SETS];
static _Atomic(struct wf_server *) keeper; /* itself; NULL: not there yet */
static struct wf_spin start_lock = WF_SPIN_INIT;
static _Atomic bool is_started;

_Atomic uint32_t *wf_keeper_word(void)
{
	return &word;
}

static uint32_t number_of(const struct wf_server *s)
{
	return (uint32_t)(s - wf_servers);
}

static void mark(_Atomic uint64_t sets[NR_SETS], const struct wf_server *s)
{
	uint32_t number = number_of(s);

	atomic_fetch_or(&sets[number / 64], 1ULL << number % 64);
}

void wf_keeper_wake(void)
{
	/*
	 * seq_cst, as are mark and run: KEEPER-1. Always with a wake: another
	 * server may have been stopped before its own. Not by the private
	 * futex: the kernel's wake is none, either.
	 */
	atomic_store(&word, 0);
	wf_sys(SYS_futex, &word, FUTEX_WAKE, 1);
}

/* --- telling ------------------------------------------------------------- */

static bool is_to_tell(const struct wf_server *s)
{
	uint32_t number = number_of(s);

	return (atomic_load(&to_tell[number / 64]) & 1ULL << number % 64) != 0;
}

/* KEEPER-5. Is there a handler that will look? */
static bool signal_carrier(const struct wf_server *s, struct wf_carrier *c)
{
	/* seq_cst: the mark before it; pairs with the handler's store. */
	if (atomic_exchange(&c->is_told, true))
		return true;
	if (wf_sys(SYS_tgkill, s->main_pid, wf_load_relaxed(&c->tid),
		   WF_PREEMPT_SIGNAL) == 0)
		return true;
	wf_store_relaxed(&c->is_told, false);
	return false;
}

/*
 * KEEPER-5. Who is idle is woken by the keeper, which may take locks; so is who
 *     was
 * found in libc, where a signal would be for nothing.
 */
static bool tell_vp(const struct wf_server *s)
{
	struct wf_carrier *c;

	if (s->vp == NULL || wf_idle_is_any() ||
	    wf_load_relaxed(&wf_os_execs) > 0)
		return false;
	c = wf_ready_yielding(s->vp);
	return c != NULL && !wf_load_relaxed(&c->has_refused) &&
	       signal_carrier(s, c);
}

void wf_keeper_notice(const struct wf_server *s)
{
	wf_count(notices);
	mark(to_tell, s);
	if (!tell_vp(s))
		wf_keeper_wake();
}

void wf_keeper_rest(struct wf_server *s)
{
	/* One wake: KEEPER-1. The program may have been stopped. */
	if (is_to_tell(s) &&
	    wf_os_futex_wait(&s->word, 0, wf_os_now() + TICK_NS) ==
		    -ETIMEDOUT &&
	    is_to_tell(s))
		wf_keeper_wake();
	wf_os_futex_wait(&s->word, 0, WF_OS_FOREVER);
}

/* --- what is marked ------------------------------------------------------ */

static void for_all(_Atomic uint64_t sets[NR_SETS], struct wf_thread *me,
		    void (*do_for)(struct wf_thread *me, struct wf_server *s))
{
	for (uint32_t i = 0; i < NR_SETS; i++) {
		uint64_t set = atomic_load(&sets[i]);

		if (set == 0)
			continue;
		set = atomic_exchange(&sets[i], 0);
		for (; set != 0; set &= set - 1)
			do_for(me, &wf_servers[i * 64 +
					       (uint32_t)__builtin_ctzll(set)]);
	}
}

/* wf_vp_io_report. KEEPER-5 */
static void see_told(struct wf_thread *t)
{
	if (t != NULL)
		for_all(to_tell, t, wf_server_finish);
	else
		wf_keeper_wake();
}

static void make(struct wf_thread *me, struct wf_server *s)
{
	int pid = wf_serve_clone(s);

	/* release: the table; pairs with wf_keeper_clone. */
	wf_store_release(&s->made_pid, pid);
	wf_os_futex_wake((_Atomic uint32_t *)&s->made_pid, 1);
}

bool wf_keeper_is_self(void)
{
	const struct wf_server *self = wf_load_relaxed(&keeper);

	return self != NULL && wf_self == &self->self;
}

int wf_keeper_clone(struct wf_server *s)
{
	int pid;

	if (wf_keeper_is_self())
		return wf_serve_clone(s);
	wf_store_relaxed(&s->made_pid, 0);
	mark(to_make, s);
	wf_keeper_wake();
	/* acquire: pairs with make. */
	while ((pid = wf_load_acquire(&s->made_pid)) == 0)
		wf_os_futex_wait((_Atomic uint32_t *)&s->made_pid, 0,
				 WF_OS_FOREVER);
	return pid;
}

static bool has_ended(struct wf_server *s)
{
	/* acquire: what it has written; pairs with the kernel's mark. */
	return wf_load_acquire(&s->tid) != 0 && s->is_process &&
	       (wf_load_acquire(&s->owner) & FUTEX_OWNER_DIED) != 0;
}

static void see_to_ends(void)
{
	uint32_t nr = wf_server_count();

	for (uint32_t i = 0; i < nr; i++) {
		struct wf_server *s = &wf_servers[i];
		int pid = has_ended(s) ? wf_server_lose(s) : 0;

		if (pid != 0) /* KEEPER-3 */
			wf_sys(SYS_wait4, pid, NULL, __WCLONE, NULL);
	}
}

static void run(void *arg)
{
	wf_store_relaxed(&keeper, arg);
	for (;;) {
		wf_server_see_dismissal();
		atomic_store(&word, 1);
		for_all(to_tell, NULL, wf_server_finish);
		for_all(to_make, NULL, make); /* KEEPER-4 */
		see_to_ends();
		wf_sys(SYS_futex, &word, FUTEX_WAIT, 1, NULL);
	}
}

int wf_keeper_start(void)
{
	int err = 0;

	if (wf_load_acquire(&is_started))
		return 0;
	wf_spin_lock(&start_lock);
	if (!wf_load_relaxed(&is_started)) {
		wf_vp_io_report = see_told;
		err = wf_server_start_own(run);
		/* release: pairs with the load above. */
		wf_store_release(&is_started, err == 0);
	}
	wf_spin_unlock(&start_lock);
	return err;
}

void wf_keeper_fork_child(void)
{
	start_lock = WF_SPIN_INIT;
	wf_store_relaxed(&is_started, false);
	wf_store_relaxed(&keeper, NULL);
	for (uint32_t i = 0; i < NR_SETS; i++) {
		wf_store_relaxed(&to_tell[i], 0);
		wf_store_relaxed(&to_make[i], 0);
	}
}
