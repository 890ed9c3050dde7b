/* SPDX-License-Identifier: MIT */
/*
 * Signals by the kernel's interface: system calls that bypass libc, and exec.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "signalling.h"
#include "threading.h"

static _Atomic int nr_handled;
static siginfo_t last_info;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	last_info = *info;
	nr_handled++;
}

/* --- system calls -------------------------------------------------------- */

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static uint64_t bit_of(int sig)
{
	return 1ULL << (sig - 1);
}

TEST(raw_sigaction)
{
	struct kernel_sigaction k;
	struct sigaction action;

	handle(SIGUSR1, note, SA_RESTART);
	have_threads();
	CHECK_EQ(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &k, 8), 0);
	CHECK(k.handler == note);
	CHECK((k.flags & SA_SIGINFO) != 0);
	memset(&k.handler, 0, sizeof(k.handler));
	*(char *)&k.handler = 1; /* SIG_IGN */
	CHECK_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &k, NULL, 8), 0);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &action), 0);
	CHECK(action.sa_handler == SIG_IGN);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(nr_handled, 0);
	k.handler = note;
	CHECK_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &k, NULL, 8), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(nr_handled, 1);
	CHECK_ERRNO((int)syscall(SYS_rt_sigaction, SIGKILL, &k, NULL, 8),
		    EINVAL);
	CHECK_ERRNO((int)syscall(SYS_rt_sigaction, SIGUSR1, &k, NULL, 4),
		    EINVAL);
}

static void *raw_masks(void *arg)
{
	uint64_t set = bit_of(SIGUSR1), old = 0, pending = 0;
	siginfo_t info;

	CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &old, 8), 0);
	CHECK_EQ(old & set, 0);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(syscall(SYS_rt_sigpending, &pending, 8), 0);
	CHECK_EQ(pending, set);
	CHECK_EQ(syscall(SYS_rt_sigtimedwait, &set, &info, NULL, 8), SIGUSR1);
	CHECK_EQ(info.si_code, SI_TKILL);
	CHECK_EQ(syscall(SYS_rt_sigpending, &pending, 8), 0);
	CHECK_EQ(pending, 0);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(nr_handled, 0);
	CHECK_ERRNO((int)syscall(SYS_rt_sigsuspend, &old, 8), EINTR);
	CHECK_EQ(nr_handled, 1);
	CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &old, 8), 0);
	CHECK_EQ(old & set, set);
	CHECK_ERRNO((int)syscall(SYS_rt_sigtimedwait, &set, &info, NULL, 4),
		    EINVAL);
	return arg;
}

TEST(raw_masks_and_waits)
{
	handle(SIGUSR1, note, SA_RESTART);
	thread_join(thread_start(raw_masks, NULL));
}

static _Atomic bool is_about_to_pause;

static void *raw_pause(void *arg)
{
	CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
	is_about_to_pause = true;
	syscall(SYS_pause);
	return arg;
}

/* Only a signal of the program's ends the raw pause, not one of weft's. */
TEST(raw_pause_until_cancelled)
{
	for (int i = 0; i < 300; i++) {
		pthread_t t;

		is_about_to_pause = false;
		t = thread_start(raw_pause, NULL);
		while (!is_about_to_pause)
			sched_yield();
		CHECK_EQ(pthread_cancel(t), 0);
		CHECK(thread_join(t) == PTHREAD_CANCELED);
	}
}

TEST(raw_wait_ends_in_time)
{
	struct timespec little = { 0, 5 * NS_PER_MS };
	uint64_t set = bit_of(SIGUSR1);

	block(SIGUSR1);
	have_threads();
	CHECK_ERRNO((int)syscall(SYS_rt_sigtimedwait, &set, NULL, &little, 8),
		    EAGAIN);
}

static void *wait_for_value(void *arg)
{
	sigset_t set = set_of(SIGRTMIN + 3);
	siginfo_t info;

	*(_Atomic pid_t *)arg = gettid();
	CHECK_EQ(sigwaitinfo(&set, &info), SIGRTMIN + 3);
	CHECK_EQ(info.si_code, SI_QUEUE);
	CHECK_EQ(info.si_value.sival_int, 4711);
	return NULL;
}

static siginfo_t queued(int sig, int code, int value)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	return info;
}

TEST(raw_queueing)
{
	siginfo_t info = queued(SIGRTMIN + 3, SI_QUEUE, 4711);
	_Atomic pid_t tid = 0;
	pthread_t t;

	block(SIGRTMIN + 3);
	t = thread_start(wait_for_value, (void *)&tid);
	await_count(&tid, 1);
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, SIGRTMIN + 3,
			 &info),
		 0);
	thread_join(t);
	tid = 0;
	t = thread_start(wait_for_value, (void *)&tid);
	await_count(&tid, 1);
	CHECK_EQ(syscall(SYS_rt_sigqueueinfo, getpid(), SIGRTMIN + 3, &info),
		 0);
	thread_join(t);
}

static void *forge(void *arg)
{
	siginfo_t info = queued(SIGUSR1, SI_TKILL, 0);

	/* A process may use the kernel's codes only towards itself. */
	CHECK_ERRNO((int)syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(),
				 SIGUSR1, &info),
		    EPERM);
	CHECK_ERRNO((int)syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info),
		    EPERM);
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR1,
			 &info),
		 0);
	CHECK_EQ(nr_handled, 1);
	return arg;
}

TEST(raw_queueing_in_the_kernels_name)
{
	handle(SIGUSR1, note, SA_RESTART);
	thread_join(thread_start(forge, NULL));
	CHECK_EQ(last_info.si_code, SI_TKILL);
}

static char altstack[65536];
static _Atomic int was_on_altstack;

static void look_at_stack(int sig, siginfo_t *info, void *context)
{
	char here;

	note(sig, info, context);
	was_on_altstack = (&here > altstack && &here < altstack + 65536);
}

static void *raw_altstack(void *arg)
{
	stack_t ss = { .ss_sp = altstack, .ss_size = sizeof(altstack) }, old;

	CHECK_EQ(syscall(SYS_sigaltstack, &ss, NULL), 0);
	CHECK_EQ(sigaltstack(NULL, &old), 0);
	CHECK(old.ss_sp == altstack);
	sched_yield();
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(was_on_altstack, 1);
	return arg;
}

TEST(raw_altstack_is_the_threads)
{
	struct sigaction action;
	stack_t old;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = look_at_stack;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	thread_join(thread_start(raw_altstack, NULL));
	CHECK_EQ(syscall(SYS_sigaltstack, NULL, &old), 0);
	CHECK((old.ss_flags & SS_DISABLE) != 0);
	CHECK_EQ(nr_handled, 1);
}

TEST(raw_kill_of_oneself)
{
	handle(SIGUSR2, note, SA_RESTART);
	have_threads();
	CHECK_EQ(syscall(SYS_kill, getpid(), SIGUSR2), 0);
	CHECK_EQ(nr_handled, 1);
	CHECK_EQ(last_info.si_code, SI_USER);
}

/* --- signals to the own process, not by kill ----------------------------- */

static int own_descriptor;

static int to_no_group(void)
{
	return kill(0, SIGUSR1);
}

static int to_own_group(void)
{
	return killpg(getpgrp(), SIGUSR1);
}

static int to_own_descriptor(void)
{
	return (int)syscall(SYS_pidfd_send_signal, own_descriptor, SIGUSR1,
			    NULL, 0);
}

static void *come_and_go(void *arg)
{
	while (!*(_Atomic int *)arg)
		usleep(100);
	return arg;
}

/*
 * POSIX: kill returns after the delivery if no other thread takes the signal.
 */
TEST(handled_when_the_call_that_sends_returns)
{
	enum { NR_SENT = 4000 };
	int (*const ways[])(void) = { to_no_group, to_own_group,
				      to_own_descriptor };
	_Atomic int is_over = 0;
	pthread_t thread;
	sigset_t set;

	CHECK(setpgid(0, 0) == 0 || errno == EPERM);
	own_descriptor = (int)syscall(SYS_pidfd_open, getpid(), 0);
	CHECK(own_descriptor >= 0);
	handle(SIGUSR1, note, 0);
	set = block(SIGUSR1);
	thread = thread_start(come_and_go, &is_over);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	for (int i = 0; i < 3 * NR_SENT; i++) {
		CHECK_EQ(ways[i / NR_SENT](), 0);
		CHECK_EQ(nr_handled, i + 1);
		CHECK_EQ(last_info.si_code, SI_USER);
		CHECK_EQ(last_info.si_pid, getpid());
	}
	is_over = 1;
	thread_join(thread);
}

TEST(errors_of_a_process_descriptor)
{
	siginfo_t info = { .si_signo = SIGUSR2, .si_code = SI_QUEUE };
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	have_threads();
	handle(SIGUSR1, note, 0);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, &info, 0),
		    EINVAL);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, 16, 0), EFAULT);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, fd, 65, NULL, 0), EINVAL);
	CHECK_ERRNO(syscall(SYS_pidfd_send_signal, -1, 0, NULL, 0), EBADF);
	CHECK_EQ(syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0), 0);
	info.si_signo = SIGUSR1;
	info.si_value.sival_int = 7;
	CHECK_EQ(syscall(SYS_pidfd_send_signal, fd, SIGUSR1, &info, 0), 0);
	CHECK_EQ(nr_handled, 1);
	CHECK_EQ(last_info.si_value.sival_int, 7);
	CHECK_EQ(close(fd), 0);
}

/* --- exec ----------------------------------------------------------------- */

/* The program that follows exits with 0 if SIGUSR1 and SIGUSR2 are pending. */
#define SHOW                                                                   \
	"while read name value; do case $name in SigPnd:) a=$value;; ShdPnd:)" \
	" b=$value;; esac; done < /proc/self/status;"                          \
	" [ $((0x$a | 0x$b)) -eq $((0xa00)) ]"

static void *replace(void *arg)
{
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	CHECK_ERRNO(execl("/does/not/exist", "x", NULL), ENOENT);
	execl("/bin/sh", "sh", "-c", SHOW, NULL);
	return arg;
}

static void replace_first(void)
{
	block(SIGUSR1);
	block(SIGUSR2);
	have_threads();
	replace(NULL);
}

static void replace_in_thread(void)
{
	block(SIGUSR1);
	block(SIGUSR2);
	thread_join(thread_start(replace, NULL));
}

TEST(pending_signals_survive_exec)
{
	CHECK_EQ(child_exit_status(replace_first), 0);
	CHECK_EQ(child_exit_status(replace_in_thread), 0);
}

/*
 * The kernel loses the sender of a raised signal if the user's processes have
 * RLIMIT_SIGPENDING signals queued. It always keeps the sender of a kill.
 */
TEST(pending_signals_survive_a_failed_exec)
{
	sigset_t raised = set_of(SIGUSR1), sent = set_of(SIGUSR2);
	siginfo_t info;

	block(SIGUSR1);
	block(SIGUSR2);
	have_threads();
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	CHECK_ERRNO(execl("/does/not/exist", "x", NULL), ENOENT);
	CHECK_EQ(sigwaitinfo(&raised, &info), SIGUSR1);
	CHECK_EQ(info.si_code, SI_USER);
	CHECK(info.si_pid == getpid() || info.si_pid == 0);
	CHECK_EQ(sigwaitinfo(&sent, &info), SIGUSR2);
	CHECK_EQ(info.si_code, SI_USER);
	CHECK_EQ(info.si_pid, getpid());
}

/* --- signals that a call sends to its caller ----------------------------- */

enum { NR_BESIDE = 4 };

static int broken_pipe(void)
{
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(close(fds[0]), 0);
	return fds[1];
}

static int broken_socket(void)
{
	int fds[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(close(fds[0]), 0);
	return fds[1];
}

/*
 * A signal that the caller blocks must be pending for it alone while other
 * threads run.
 */
static void take_pending(int sig)
{
	const struct timespec none = { 0, 0 };
	sigset_t set = set_of(sig), pending;
	siginfo_t info;

	thread_yield_often(NULL);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, sig));
	CHECK_EQ(sigtimedwait(&set, &info, &none), sig);
	CHECK_ERRNO(sigtimedwait(&set, &info, &none), EAGAIN);
	CHECK_EQ(nr_handled, 0);
}

static void *write_to_nobody(void *arg)
{
	int pipe_end = broken_pipe(), socket_end = broken_socket();
	sigset_t set = block(SIGPIPE);

	CHECK_ERRNO(write(pipe_end, "x", 1), EPIPE);
	take_pending(SIGPIPE);
	CHECK_ERRNO(send(socket_end, "x", 1, 0), EPIPE);
	take_pending(SIGPIPE);
	CHECK_ERRNO(syscall(SYS_write, pipe_end, "x", 1), EPIPE);
	take_pending(SIGPIPE);
	CHECK_ERRNO(write(pipe_end, "x", 1), EPIPE);
	thread_yield_often(NULL);
	CHECK_EQ(nr_handled, 0);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	CHECK_EQ(nr_handled, 1);
	nr_handled = 0;
	block(SIGPIPE);
	/* SIGPIPE stays blocked, so no thread takes this signal. */
	CHECK_ERRNO(write(pipe_end, "x", 1), EPIPE);
	return arg;
}

static void *write_too_much(void *arg)
{
	struct rlimit limit = { 1, RLIM_INFINITY };
	FILE *file = tmpfile();

	CHECK(file != NULL);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	block(SIGXFSZ);
	CHECK_EQ(write(fileno(file), "x", 1), 1);
	CHECK_ERRNO(write(fileno(file), "x", 1), EFBIG);
	take_pending(SIGXFSZ);
	CHECK_ERRNO(ftruncate(fileno(file), 2), EFBIG);
	take_pending(SIGXFSZ);
	return arg;
}

static void beside_others(void *(*body)(void *))
{
	pthread_t others[NR_BESIDE], writer;

	handle(SIGPIPE, note, 0);
	handle(SIGXFSZ, note, 0);
	threads_start(others, NR_BESIDE, thread_yield_often, NULL);
	writer = thread_start(body, NULL);
	thread_yield_often(NULL);
	thread_join(writer);
	threads_join(others, NR_BESIDE);
	thread_yield_often(NULL);
	CHECK_EQ(nr_handled, 0);
}

TEST(blocked_signals_of_broken_pipes)
{
	beside_others(write_to_nobody);
}

TEST(blocked_signals_of_too_large_files)
{
	beside_others(write_too_much);
}
