/* SPDX-License-Identifier: MIT */
/*
 * The supervisor of the I/O servers is a kernel thread. It makes the servers,
 * reports the requests that they have completed, and cleans up after servers
 * that have ended. Two sets have a bit for each server: to_report and to_make.
 * A bit asks the supervisor to report the server's job or to make the server.
 *
 * SUPERVISOR-1. An I/O server sets its bit and clears the supervisor's word
 *     when it has a completion to report. When a server ends, the kernel marks
 *     the server's owner word and then clears the supervisor's word. The
 *     supervisor sets its word before it checks, so it sleeps only if there is
 *     nothing to do.
 * SUPERVISOR-2. If a server is killed after the exchange that made its job
 *     COMPLETE and before its report, it counts as ended. The supervisor then
 *     finds its job complete.
 * SUPERVISOR-3. The supervisor waits for a process only when no thread can find
 *     it in the table any more. After the wait another process may get its id.
 * SUPERVISOR-4. An I/O server dies with the kernel thread that has made it.
 *     Carriers may exit, but the supervisor does not. So the supervisor makes
 *     all servers, for threads that need a server and wait for its id.
 * SUPERVISOR-5. If a CPU-bound thread has the VP that the job came from, the
 *     server sends the preemption signal to the VP's carrier. The handler
 *     completes the requests of all marked servers, which saves two switches
 *     between kernel threads. This is only faster. A bit stays until a thread
 *     has taken it, and a server that finds its bit set a tick later wakes the
 *     supervisor. Of several servers that report to one carrier only the first
 *     sends a signal; the handler clears is_notified before it reads the bits.
 *     If the first server is killed before it sends the signal, the other
 *     reports come a tick late, until the carrier gets any signal. A handler
 *     that runs where no thread may be preempted wakes the supervisor.
 *
 * Rejected: a descriptor for each process, as the program would have fewer.
 * Rejected: SIGCHLD or a wait for any child. Both belong to the program.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/wait.h>

#include "io/backend/worker_table.h"
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
	NR_SETS = (WF_NR_WORKERS + 63) / 64,
	TICK_NS = WF_NS_PER_MS,
};

static _Atomic uint32_t word; /* futex: 1: the supervisor has nothing to do */
static _Atomic uint64_t to_report[NR_SETS], to_make[NR_SETS];
static _Atomic(struct wf_worker *) supervisor; /* NULL: it does not run yet */
static struct wf_spin start_lock = WF_SPIN_INIT;
static _Atomic bool is_started;

_Atomic uint32_t *wf_supervisor_word(void)
{
	return &word;
}

static uint32_t number_of(const struct wf_worker *s)
{
	return (uint32_t)(s - wf_workers);
}

static void mark(_Atomic uint64_t sets[NR_SETS], const struct wf_worker *s)
{
	uint32_t number = number_of(s);

	atomic_fetch_or(&sets[number / 64], 1ULL << number % 64);
}

void wf_supervisor_wake(void)
{
	/*
	 * seq_cst, as are mark and run (SUPERVISOR-1). It wakes also if the
	 * word is 0 already: another server may have been stopped before its
	 * wake. A private futex would not do, as the kernel's wake at an end is
	 * not private.
	 */
	atomic_store(&word, 0);
	wf_sys(SYS_futex, &word, FUTEX_WAKE, 1);
}

/* --- reporting ----------------------------------------------------------- */

static bool is_to_report(const struct wf_worker *s)
{
	uint32_t number = number_of(s);

	return (atomic_load(&to_report[number / 64]) & 1ULL << number % 64) !=
	       0;
}

/* SUPERVISOR-5. Returns true if a handler of the carrier will read the bits. */
static bool signal_carrier(const struct wf_worker *s, struct wf_carrier *c)
{
	/* seq_cst: after the bit was set; pairs with the handler's store */
	if (atomic_exchange(&c->is_notified, true))
		return true;
	if (wf_sys(SYS_tgkill, s->main_pid, wf_load_relaxed(&c->tid),
		   WF_PREEMPT_SIGNAL) == 0)
		return true;
	wf_store_relaxed(&c->is_notified, false);
	return false;
}

/*
 * SUPERVISOR-5. Returns false if the supervisor has to report. That is so for
 * an idle VP, since waking it takes locks. It is also so for a carrier that was
 * found in libc, where the handler of the signal would do nothing.
 */
static bool report_to_vp(const struct wf_worker *s)
{
	struct wf_carrier *c;

	if (s->vp == NULL || wf_idle_is_any() ||
	    wf_load_relaxed(&wf_os_execs) > 0)
		return false;
	c = wf_ready_yielding(s->vp);
	return c != NULL && !wf_load_relaxed(&c->has_refused) &&
	       signal_carrier(s, c);
}

void wf_supervisor_notice(const struct wf_worker *s)
{
	wf_count(completions);
	mark(to_report, s);
	if (!report_to_vp(s))
		wf_supervisor_wake();
}

void wf_supervisor_rest(struct wf_worker *s)
{
	/*
	 * A bit that is still set after a tick: the handler has not run, as the
	 * program may have been stopped. One wake is enough (SUPERVISOR-1).
	 */
	if (is_to_report(s) &&
	    wf_os_futex_wait(&s->word, 0, wf_os_now() + TICK_NS) ==
		    -ETIMEDOUT &&
	    is_to_report(s))
		wf_supervisor_wake();
	wf_os_futex_wait(&s->word, 0, WF_OS_FOREVER);
}

/* --- marked servers ------------------------------------------------------ */

static void for_all(_Atomic uint64_t sets[NR_SETS], struct wf_thread *me,
		    void (*do_for)(struct wf_thread *me, struct wf_worker *s))
{
	for (uint32_t i = 0; i < NR_SETS; i++) {
		uint64_t set = atomic_load(&sets[i]);

		if (set == 0)
			continue;
		set = atomic_exchange(&sets[i], 0);
		for (; set != 0; set &= set - 1)
			do_for(me, &wf_workers[i * 64 +
					       (uint32_t)__builtin_ctzll(set)]);
	}
}

/* SUPERVISOR-5 */
void wf_supervisor_finish_marked(struct wf_thread *t)
{
	if (t != NULL)
		for_all(to_report, t, wf_worker_finish);
	else
		wf_supervisor_wake();
}

static void make(struct wf_thread *me, struct wf_worker *s)
{
	int pid = wf_worker_clone(s);

	/* release: the table; pairs with wf_supervisor_clone. */
	wf_store_release(&s->made_pid, pid);
	wf_os_futex_wake((_Atomic uint32_t *)&s->made_pid, 1);
}

bool wf_supervisor_is_self(void)
{
	const struct wf_worker *self = wf_load_relaxed(&supervisor);

	return self != NULL && wf_self == &self->self;
}

int wf_supervisor_clone(struct wf_worker *s)
{
	int pid;

	if (wf_supervisor_is_self())
		return wf_worker_clone(s);
	wf_store_relaxed(&s->made_pid, 0);
	mark(to_make, s);
	wf_supervisor_wake();
	/* acquire: pairs with make. */
	while ((pid = wf_load_acquire(&s->made_pid)) == 0)
		wf_os_futex_wait((_Atomic uint32_t *)&s->made_pid, 0,
				 WF_OS_FOREVER);
	return pid;
}

static bool has_ended(struct wf_worker *s)
{
	/* acquire: the process's writes; pairs with the kernel's mark */
	return wf_load_acquire(&s->tid) != 0 && s->is_process &&
	       (wf_load_acquire(&s->owner) & FUTEX_OWNER_DIED) != 0;
}

static void finish_ended(void)
{
	uint32_t nr = wf_worker_count();

	for (uint32_t i = 0; i < nr; i++) {
		struct wf_worker *s = &wf_workers[i];
		int pid = has_ended(s) ? wf_worker_lose(s) : 0;

		if (pid != 0) /* SUPERVISOR-3 */
			wf_sys(SYS_wait4, pid, NULL, __WCLONE, NULL);
	}
}

static void run(void *arg)
{
	wf_os_set_thread_name("weft-supervisor");
	wf_store_relaxed(&supervisor, arg);
	for (;;) {
		wf_worker_check_dismissal();
		atomic_store(&word, 1);
		for_all(to_report, NULL, wf_worker_finish);
		for_all(to_make, NULL, make); /* SUPERVISOR-4 */
		finish_ended();
		wf_sys(SYS_futex, &word, FUTEX_WAIT, 1, NULL);
	}
}

int wf_supervisor_start(void)
{
	int err = 0;

	if (wf_load_acquire(&is_started))
		return 0;
	wf_spin_lock(&start_lock, WF_RANK_SUPERVISOR);
	if (!wf_load_relaxed(&is_started)) {
		err = wf_worker_start_thread(run);
		/* release: pairs with the load above. */
		wf_store_release(&is_started, err == 0);
	}
	wf_spin_unlock(&start_lock);
	return err;
}

void wf_supervisor_fork_child(void)
{
	start_lock = WF_SPIN_INIT;
	wf_store_relaxed(&is_started, false);
	wf_store_relaxed(&supervisor, NULL);
	for (uint32_t i = 0; i < NR_SETS; i++) {
		wf_store_relaxed(&to_report[i], 0);
		wf_store_relaxed(&to_make[i], 0);
	}
}
