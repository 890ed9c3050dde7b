/*
 * The keeper: a kernel thread that tells of what server processes have done,
 * and sees to those that have ended.
 *
 * K1. A server process marks itself and clears the keeper's word when there is
 *     something to be told; the kernel clears it when a process ends, after it
 *     has marked the process's owner word. So the keeper, which sets its word
 *     before it looks, sleeps only if there is nothing to see.
 * K2. A process that is killed after the exchange that made its job COMPLETE,
 *     and before it told, is one that has ended: its job is found complete.
 * K3. A process is waited for, and its id becomes another's, only when nobody
 *     can find it in the table any more.
 *
 * Rejected: a descriptor for each process. The program would have that many
 * less. Rejected: SIGCHLD or a wait for any child: both are the program's.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sys/wait.h>

#include "io/server_table.h"
#include "os/sys.h"
#include "trace/counters.h"

enum { NR_SETS = (WF_NR_SERVERS + 63) / 64 };

static _Atomic uint32_t word; /* futex: 1 with nothing to see */
static _Atomic uint64_t to_tell[NR_SETS];
static struct wf_spin start_lock = WF_SPIN_INIT;
static _Atomic bool is_started;

_Atomic uint32_t *wf_keeper_word(void)
{
	return &word;
}

void wf_keeper_notice(uint32_t number)
{
	wf_count(notices);
	atomic_fetch_or(&to_tell[number / 64], 1ULL << number % 64);
	/* seq_cst, both and in run: K1. Always with a wake: another server may
	 * have been stopped before its own. Not by the private futex: the
	 * kernel's wake is none, either. */
	atomic_store(&word, 0);
	wf_sys(SYS_futex, &word, FUTEX_WAKE, 1);
}

static void tell(void)
{
	for (uint32_t i = 0; i < NR_SETS; i++) {
		uint64_t set = atomic_exchange(&to_tell[i], 0);

		for (; set != 0; set &= set - 1)
			wf_server_finish(
				NULL,
				&wf_servers[i * 64 +
					    (uint32_t)__builtin_ctzll(set)]);
	}
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
	for (;;) {
		atomic_store(&word, 1);
		tell();
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
	for (uint32_t i = 0; i < NR_SETS; i++)
		wf_store_relaxed(&to_tell[i], 0);
}
