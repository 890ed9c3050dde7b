/* SPDX-License-Identifier: MIT */
/*
 * Loaded by own_runtime.c. Its system calls are compiled in and come in the
 * order of Go's runtime. It also has the note that Go's linker leaves.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

__asm__(".pushsection .note.go.buildid, \"a\", @note\n\t"
	".long 4, 4, 4\n\t"
	".asciz \"Go\\0\"\n\t"
	".ascii \"test\"\n\t"
	".popsection");

enum { STACK_BYTES = 32 * 1024 };

static _Thread_local struct {
	char *stack;
	long tid;
	atomic_int nr_handled, nr_wrong;
} me;

static long raw_call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return nr;
}

static void set_mask(uint64_t mask)
{
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8);
}

static long own_tid(void)
{
	return raw_call(SYS_gettid, 0, 0, 0, 0);
}

static void on_signal(int sig, siginfo_t *info, void *ucontext)
{
	char here;

	(void)sig, (void)info, (void)ucontext;
	if (&here < me.stack || &here >= me.stack + STACK_BYTES ||
	    own_tid() != me.tid)
		atomic_fetch_add(&me.nr_wrong, 1);
	atomic_fetch_add(&me.nr_handled, 1);
}

void runtime_begin(void)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK |
						SA_RESTART };

	sigfillset(&action.sa_mask);
	sigaction(SIGURG, &action, NULL);
}

/* A thread of the program calls into the runtime for the first time. */
bool runtime_enter(char *stack)
{
	stack_t ss = { .ss_sp = stack, .ss_size = STACK_BYTES }, old = { 0 };
	pthread_attr_t attr;

	set_mask(UINT64_MAX);
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return false;
	pthread_attr_destroy(&attr);
	raw_call(SYS_sigaltstack, 0, (long)&old, 0, 0);
	if ((old.ss_flags & SS_DISABLE) == 0)
		return false; /* there is a stack that the thread has not set */
	raw_call(SYS_sigaltstack, (long)&ss, 0, 0, 0);
	me.stack = stack;
	me.tid = own_tid();
	set_mask(0);
	return true;
}

/* Signals the caller by the kernel's id, like Go's preemption. */
bool runtime_signal(void)
{
	int before = atomic_load(&me.nr_handled);

	if (raw_call(SYS_tgkill, getpid(), me.tid, SIGURG, 0) != 0)
		return false;
	return own_tid() == me.tid && atomic_load(&me.nr_wrong) == 0 &&
	       atomic_load(&me.nr_handled) == before + 1;
}

bool runtime_was_signalled(void)
{
	return atomic_load(&me.nr_handled) > 0 &&
	       atomic_load(&me.nr_wrong) == 0;
}

void runtime_leave(void)
{
	stack_t none = { .ss_flags = SS_DISABLE };

	raw_call(SYS_sigaltstack, (long)&none, 0, 0, 0);
}

/* A thread that the runtime makes for itself. */
static void *run(void *stack)
{
	bool is_right = runtime_enter(stack);

	for (int i = 0; i < 100 && is_right; i++)
		is_right = runtime_signal();
	runtime_leave();
	return (void *)(intptr_t)is_right;
}

bool runtime_runs_thread(char *stack)
{
	pthread_t thread;
	void *result = NULL;

	return pthread_create(&thread, NULL, run, stack) == 0 &&
	       pthread_join(thread, &result) == 0 && result != NULL;
}
