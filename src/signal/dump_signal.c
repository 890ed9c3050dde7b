/* SPDX-License-Identifier: MIT */
/*
 * Counts the signals that ask for stacks, for a service that prints them, and
 * stops threads for it.
 *
 * A thread that runs has its registers in the kernel. weft's signal takes it to
 * a handler, which finds the registers in its frame and waits there. A thread
 * that sleeps in the kernel, in libc's lock for instance, comes to the handler,
 * too; its call starts again.
 *
 * DUMP_SIGNAL-1. wf_dump_pause_round is odd while threads are to stand still.
 *     The service makes it even again and wakes them. A handler waits for a
 *     change of the number, so no thread waits in a later round.
 * DUMP_SIGNAL-2. A thread that stands still may hold any lock, of weft's too.
 *     Until the end of the pause the service takes no lock, and calls the
 *     kernel only.
 */
#include "signal/dump_signal.h"

#include <signal.h>
#include <string.h>

#include "base/options.h"
#include "base/upcall.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/preempt.h"
#include "sched/service.h"
#include "sched/table.h"
#include "signal/preempt.h"

/* Time in which a thread has to come to the handler, also on a busy CPU. */
enum { PAUSE_NS = 250 * 1000 * 1000 };

static const struct {
	int number;
	const char *name;
} signals[] = {
	[WF_DUMP_ON_NONE] = { 0, "none" },
	[WF_DUMP_ON_QUIT] = { SIGQUIT, "SIGQUIT" },
	[WF_DUMP_ON_USR1] = { SIGUSR1, "SIGUSR1" },
	[WF_DUMP_ON_USR2] = { SIGUSR2, "SIGUSR2" },
	[WF_DUMP_ON_URG] = { SIGURG, "SIGURG" },
	[WF_DUMP_ON_PWR] = { SIGPWR, "SIGPWR" },
};

int wf_dump_signal_number;
char wf_dump_command[PATH_MAX];
struct wf_dump_paused wf_dump_paused[WF_DUMP_MOST_PAUSED];
_Atomic uint32_t wf_dump_pause_round; /* DUMP_SIGNAL-1 */

static _Atomic uint32_t nr_asked; /* futex; signals, and dismissals */
static _Atomic uint32_t nr_done;  /* of nr_asked; the service stores it */
static uint32_t nr_taken;	  /* the dump in progress is for these */
static _Atomic uint32_t nr_noted; /* in wf_dump_paused */
static _Atomic uint32_t nr_still; /* futex: threads in the handler */
static _Atomic int tid;
static struct wf_thread self;

void wf_dump_signal_init(char *const *envp)
{
	static const char name[] = WF_OPTION_COMMAND "=";
	size_t len = sizeof(name) - 1;

	wf_dump_signal_number = signals[wf_options.dump_on].number;
	for (; envp != NULL && *envp != NULL; envp++) {
		const char *path = *envp + len;

		if (strncmp(*envp, name, len) == 0 && *path == '/' &&
		    strlen(path) < sizeof(wf_dump_command))
			strcpy(wf_dump_command, path);
	}
}

const char *wf_dump_signal_name(void)
{
	return signals[wf_options.dump_on].name;
}

int wf_dump_signal_start(void)
{
	if (wf_dump_signal_number == 0)
		return 0;
	return wf_service_start(wf_upcall.dump_run, &self, &tid);
}

static void wake(void)
{
	atomic_fetch_add(&nr_asked, 1);
	wf_os_futex_wake(&nr_asked, 1);
}

bool wf_dump_signal_dismiss(void)
{
	return wf_service_dismiss(&tid, wake);
}

void wf_dump_signal_fork_child(void)
{
	wf_store_relaxed(&tid, 0);
	wf_store_relaxed(&nr_done, wf_load_relaxed(&nr_asked));
	wf_store_relaxed(&wf_dump_pause_round, 0);
}

bool wf_dump_signal_is_busy(void)
{
	return wf_load_acquire(&nr_done) != wf_load_acquire(&nr_asked);
}

bool wf_dump_signal_take(int sig, const ucontext_t *uc)
{
	if (!wf_dump_signal_is(sig) || sig == 0)
		return false;
	if (wf_load_acquire(&tid) != 0)
		wake();
	else if (uc != NULL)
		wf_upcall.dump_alone((const void *)uc);
	return true;
}

bool wf_dump_signal_await(void)
{
	for (;;) {
		uint32_t asked = wf_load_acquire(&nr_asked);

		if (wf_service_is_dismissed(&tid))
			return false;
		if (asked != wf_load_relaxed(&nr_done)) {
			nr_taken = asked;
			return true;
		}
		wf_os_futex_wait(&nr_asked, asked, WF_OS_FOREVER);
	}
}

void wf_dump_signal_done(void)
{
	wf_store_release(&nr_done, nr_taken);
}

/* --- threads that run ----------------------------------------------------- */

/* The carrier that has t's registers; NULL if they are saved. */
static struct wf_carrier *carrier_of(const struct wf_thread *t)
{
	if (!wf_thread_exists(t))
		return NULL;
	return wf_carrier_running(t);
}

uint32_t wf_dump_pause_begin(void)
{
	const int64_t until_ns = wf_os_now() + PAUSE_NS;
	uint32_t nr = wf_table_high(), nr_signalled = 0, still;

	for (uint32_t i = 0;
	     i < WF_DUMP_MOST_PAUSED && wf_dump_paused[i].thread_register != 0;
	     i++)
		wf_dump_paused[i].thread_register = 0;
	wf_store_relaxed(&nr_noted, 0);
	wf_store_relaxed(&nr_still, 0);
	wf_os_pass_barrier(); /* for wf_carrier_running */
	atomic_fetch_add(&wf_dump_pause_round, 1);
	for (uint32_t i = 1; i < nr; i++) {
		struct wf_carrier *c = carrier_of(wf_table_at(i));

		if (c == NULL)
			continue;
		nr_signalled++;
		wf_preempt_signal(c);
	}
	while ((still = wf_load_acquire(&nr_still)) < nr_signalled &&
	       wf_os_now() < until_ns)
		wf_os_futex_wait(&nr_still, still, until_ns);
	nr = wf_load_acquire(&nr_noted);
	return nr < WF_DUMP_MOST_PAUSED ? nr : WF_DUMP_MOST_PAUSED;
}

void wf_dump_pause_end(void)
{
	atomic_fetch_add(&wf_dump_pause_round, 1);
	wf_os_futex_wake(&wf_dump_pause_round, INT_MAX);
}

void wf_dump_pause_here_slow(const ucontext_t *uc, bool runs_thread)
{
	uint32_t round = wf_load_acquire(&wf_dump_pause_round), i;

	if (round % 2 == 0)
		return;
	if (runs_thread) {
		i = atomic_fetch_add(&nr_noted, 1);
		if (i < WF_DUMP_MOST_PAUSED)
			wf_dump_paused[i] = (struct wf_dump_paused){
				.tid = wf_os_gettid(),
				.thread_register = wf_cpu_thread_register(),
				.registers = wf_arch_registers_of(
					uc->uc_mcontext.gregs),
			};
	}
	/* release: publishes the registers; pairs with pause_begin. */
	atomic_fetch_add(&nr_still, 1);
	wf_os_futex_wake(&nr_still, 1);
	while (runs_thread && wf_load_acquire(&wf_dump_pause_round) == round)
		wf_os_futex_wait(&wf_dump_pause_round, round, WF_OS_FOREVER);
}
