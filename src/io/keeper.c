/*
 * The keeper: a kernel thread that makes server processes, tells of what they
 * have done, and sees to those that have ended.
 *
 * K1. A server process marks itself and clears the keeper's word when there is
 *     something to be told; the kernel clears it when a process ends, after it
 *     has marked the process's owner word. So the keeper, which sets its word
 *     before it looks, sleeps only if there is nothing to see.
 * K2. A process that is killed after the exchange that made its job COMPLETE,
 *     and before it told, is one that has ended: its job is found complete.
 * K3. A process is waited for, and its id becomes another's, only when nobody
 *     can find it in the table any more.
 * K4. A process dies with the kernel thread that has made it. Carriers may
 *     exit, the keeper does not: it makes them all, at the request of who
 *     needs one and waits for its id.
 *
 * Rejected: a descriptor for each process. The program would have that many
 * less. Rejected: SIGCHLD or a wait for any child: both are the program's.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/wait.h>

#include "io/server_table.h"
#include "os/futex.h"
#include "os/sys.h"
#include "trace/counters.h"

enum { NR_SETS = (WF_NR_SERVERS + 63) / 64 };

static _Atomic uint32_t word; /* futex: 1 with nothing to see */
static _Atomic uint64_t to_tell[NR_SETS], to_make[NR_SETS];
static _Atomic(struct wf_server *) keeper; /* itself; NULL: not there yet */
static struct wf_spin start_lock = WF_SPIN_INIT;
static _Atomic bool is_started;

_Atomic uint32_t *wf_keeper_word(void)
{
	return &word;
}

static void ask(_Atomic uint64_t set[NR_SETS], uint32_t number)
{
	atomic_fetch_or(&set[number / 64], 1ULL << number % 64);
	/* seq_cst, both and in run: K1. Always with a wake: another server may
	 * have been stopped before its own. Not by the private futex: the
	 * kernel's wake is none, either. */
	atomic_store(&word, 0);
	wf_sys(SYS_futex, &word, FUTEX_WAKE, 1);
}

void wf_keeper_notice(uint32_t number)
{
	wf_count(notices);
	ask(to_tell, number);
}

static void for_all(_Atomic uint64_t sets[NR_SETS],
		    void (*do_for)(struct wf_server *))
{
	for (uint32_t i = 0; i < NR_SETS; i++) {
		uint64_t set = atomic_exchange(&sets[i], 0);

		for (; set != 0; set &= set - 1)
			do_for(&wf_servers[i * 64 +
					   (uint32_t)__builtin_ctzll(set)]);
	}
}

static void tell(struct wf_server *s)
{
	wf_server_finish(NULL, s);
}

static void make(struct wf_server *s)
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
	ask(to_make, (uint32_t)(s - wf_servers));
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

		if (pid != 0) /* K3 */
			wf_sys(SYS_wait4, pid, NULL, __WCLONE, NULL);
	}
}

static void run(void *arg)
{
	wf_store_relaxed(&keeper, arg);
	for (;;) {
		atomic_store(&word, 1);
		for_all(to_tell, tell);
		for_all(to_make, make); /* K4 */
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
