/* SPDX-License-Identifier: MIT */
#include "end.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail.h"
#include "linuxthreads.h"
#include "manager.h"
#include "process.h"

/* Written by the manager before it sends LT_END to the main process. */
static _Atomic bool is_main_told;
static int main_status, main_signal;

/* Set by the main process before it tells the manager that it exits. */
static volatile sig_atomic_t is_main_exiting;

static void kill_threads(const struct lt_thread *but, struct lt_thread *alive)
{
	for (struct lt_thread *t = alive; t != NULL; t = t->next_alive) {
		if (t != but)
			kill(t->pid, SIGKILL);
	}
	for (struct lt_thread *t = alive; t != NULL; t = t->next_alive) {
		if (t != but)
			lt_process_wait(t->pid);
	}
}

static void tell_main(int status, int sig)
{
	main_status = status;
	main_signal = sig;
	/*
	 * release: status and signal; pairs with the acquire in lt_end_main().
	 */
	atomic_store_explicit(&is_main_told, true, memory_order_release);
	kill(lt_main->pid, LT_END);
}

void lt_end_by_exit(struct lt_thread *from, int status, struct lt_thread *alive)
{
	kill_threads(from, alive);
	if (from == lt_main) {
		lt_restart(from);
	} else {
		tell_main(status, 0);
		lt_restart(from);
		lt_process_wait(from->pid);
	}
	lt_process_exit(0);
}

void lt_end_by_status(int wait_status, struct lt_thread *alive)
{
	kill_threads(NULL, alive);
	if (WIFSIGNALED(wait_status))
		tell_main(0, WTERMSIG(wait_status));
	else
		tell_main(WEXITSTATUS(wait_status), 0);
	lt_process_exit(0);
}

static void end_as_told(void) __attribute__((noreturn));
static void end_as_told(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	struct lt_signals none = { 0 };

	lt_process_wait(lt_manager_pid());
	if (main_signal != 0) {
		sigaction(main_signal, &action, NULL);
		kill(getpid(), main_signal);
		lt_signals_mask(SIG_SETMASK, &none, NULL);
		lt_process_exit(128 + main_signal);
	}
	lt_process_exit(main_status);
}

void lt_end_main(void)
{
	pid_t manager = lt_manager_pid();

	/* acquire: pairs with the release in tell_main(). */
	if (atomic_load_explicit(&is_main_told, memory_order_acquire))
		end_as_told();
	if (!is_main_exiting && manager != 0 &&
	    waitpid(manager, NULL, __WALL | WNOHANG) == manager)
		lt_fail("the manager has ended");
}

/* Runs in exit(), before libc writes what its streams hold. */
static void at_exit(int status, void *unused)
{
	struct lt_thread *self = lt_self();
	struct lt_request request = { .kind = LT_EXIT,
				      .from = self,
				      .status = status };

	(void)unused;
	if (lt_manager_pid() == 0)
		return;
	is_main_exiting = is_main_exiting || self == lt_main;
	lt_manager_ask(&request);
	lt_suspend(self);
	if (self == lt_main)
		lt_manager_stop();
}

static void __attribute__((constructor)) start(void)
{
	if (on_exit(at_exit, NULL) != 0)
		lt_fail("cannot register an exit handler");
}
