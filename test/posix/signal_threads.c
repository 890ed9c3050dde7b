/* SPDX-License-Identifier: MIT */
/*
 * Signals in programs with threads: to a thread in each of its states, to the
 * process, masks, interrupted waits, waits for signals.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "signalling.h"
#include "threading.h"

static _Atomic int nr_handled;
static _Atomic pthread_t handled_by;
static siginfo_t last_info;
static _Atomic int is_over;
static __thread volatile int nr_mine;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	last_info = *info;
	nr_mine++;
	handled_by = pthread_self();
	nr_handled++;
}

/* --- signals to one thread ------------------------------------------------ */

static void *compute(void *arg)
{
	while (!is_over)
		continue;
	return (void *)(intptr_t)nr_mine;
}

static void *wait_for_permit(void *sem)
{
	while (sem_wait(sem) < 0)
		CHECK_EQ(errno, EINTR);
	return (void *)(intptr_t)nr_mine;
}

TEST(kill_reaches_every_state)
{
	enum { ROUNDS = 10, EACH = 3 };
	pthread_t threads[2 * EACH];
	sem_t sem;

	handle(SIGUSR1, note, 0);
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	threads_start(threads, EACH, compute, NULL);
	threads_start(threads + EACH, EACH, wait_for_permit, &sem);
	for (int i = 0; i < ROUNDS * 2 * EACH; i++) {
		pthread_t t = threads[i % (2 * EACH)];
		int before = nr_handled;

		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		await_count(&nr_handled, before + 1);
		CHECK(handled_by == t);
		CHECK_EQ(last_info.si_code, SI_TKILL);
		CHECK_EQ(last_info.si_pid, getpid());
	}
	is_over = 1;
	for (int i = 0; i < EACH; i++)
		CHECK_EQ(sem_post(&sem), 0);
	for (int i = 0; i < 2 * EACH; i++)
		CHECK_EQ((intptr_t)thread_join(threads[i]), ROUNDS);
}

static void *count_own(void *arg)
{
	return (void *)(intptr_t)nr_mine;
}

TEST(kill_of_a_new_thread)
{
	handle(SIGUSR1, note, SA_RESTART);
	for (int i = 0; i < 500; i++) {
		pthread_t t = thread_start(count_own, NULL);

		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		/* The thread may have ended before the signal. */
		CHECK((intptr_t)thread_join(t) <= 1);
	}
	CHECK_EQ(pthread_kill(pthread_self(), 65), EINVAL);
	CHECK_EQ(pthread_kill(pthread_self(), -1), EINVAL);
	CHECK_EQ(pthread_kill(pthread_self(), 0), 0);
	CHECK_ERRNO(tgkill(getpid(), 999999999, SIGUSR1), ESRCH);
}

static _Atomic int tid_of_other;

static void *tell_tid(void *sem)
{
	tid_of_other = gettid();
	return wait_for_permit(sem);
}

TEST(tgkill_by_tid)
{
	pthread_t t;
	sem_t sem;

	handle(SIGUSR1, note, SA_RESTART);
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	t = thread_start(tell_tid, &sem);
	await_count(&tid_of_other, 1);
	CHECK_ERRNO(tgkill(getpid(), tid_of_other, 65), EINVAL);
	CHECK_ERRNO(tgkill(getpid(), tid_of_other, -1), EINVAL);
	CHECK_ERRNO(syscall(SYS_tkill, tid_of_other, 65), EINVAL);
	last_info.si_code = SI_QUEUE;
	CHECK_ERRNO(syscall(SYS_rt_tgsigqueueinfo, getpid(), tid_of_other, 65,
			    &last_info),
		    EINVAL);
	CHECK_EQ(tgkill(getpid(), tid_of_other, SIGUSR1), 0);
	await_count(&nr_handled, 1);
	CHECK_EQ(syscall(SYS_tgkill, getpid(), tid_of_other, SIGUSR1), 0);
	await_count(&nr_handled, 2);
	CHECK(handled_by == t);
	CHECK_EQ(sem_post(&sem), 0);
	CHECK_EQ((intptr_t)thread_join(t), 2);
}

static int tid_of_ended;

static void *tell_tid_and_end(void *arg)
{
	tid_of_ended = gettid();
	return arg;
}

/* Runs in a child, before it has threads of its own and after. */
static void send_to_parent(void)
{
	const pid_t parent = getppid();
	const int tid = tid_of_other;

	CHECK_ERRNO(tgkill(parent, tid_of_ended, 0), ESRCH);
	CHECK_ERRNO(tgkill(parent, tid_of_ended, SIGUSR1), ESRCH);

	CHECK_ERRNO(tgkill(getpid(), tid, SIGUSR1), ESRCH);
	CHECK_ERRNO(tgkill(parent, gettid(), SIGUSR1), ESRCH);
	CHECK_ERRNO(tgkill(parent, tid, 65), EINVAL);
	CHECK_ERRNO(tgkill(parent, tid, -1), EINVAL);
	CHECK_EQ(tgkill(parent, tid, 0), 0);
	CHECK_EQ(tgkill(parent, tid, SIGUSR1), 0);
	thread_join(thread_start(thread_nothing, NULL));
	CHECK_EQ(syscall(SYS_tgkill, parent, tid, SIGUSR2), 0);
	CHECK_ERRNO(tgkill(parent, tid_of_ended, SIGUSR1), ESRCH);
	CHECK_EQ(tgkill(parent, tid, 0), 0);
}

static void *have_child_send(void *arg)
{
	tid_of_other = gettid();
	CHECK_EQ(child_exit_status(send_to_parent), 0);
	while (nr_mine < 2)
		sched_yield();
	return (void *)(intptr_t)nr_mine;
}

TEST(tgkill_from_another_process)
{
	pthread_t t;
	sem_t sem;

	handle(SIGUSR1, note, SA_RESTART);
	handle(SIGUSR2, note, SA_RESTART);
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	thread_join(thread_start(tell_tid_and_end, NULL));
	t = thread_start(tell_tid, &sem);
	await_count(&tid_of_other, 1);
	CHECK_EQ(child_exit_status(send_to_parent), 0);
	await_count(&nr_handled, 2);
	CHECK(handled_by == t);
	CHECK_EQ(last_info.si_code, SI_TKILL);
	CHECK(last_info.si_pid != getpid() && last_info.si_pid > 0);
	CHECK_EQ(last_info.si_uid, getuid());
	CHECK_EQ(sem_post(&sem), 0);
	CHECK_EQ((intptr_t)thread_join(t), 2);
	CHECK_EQ((intptr_t)thread_join(thread_start(have_child_send, NULL)), 2);
	CHECK_EQ(nr_handled, 4);
}

static volatile int order[16];
static volatile int nr_ordered;

static void note_value(int sig, siginfo_t *info, void *context)
{
	order[nr_ordered++] = info->si_value.sival_int;
}

static void *queue_to_self(void *arg)
{
	sigset_t set = set_of(SIGRTMIN + 5);

	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	for (int i = 0; i < 10; i++) {
		union sigval value = { .sival_int = i };

		CHECK_EQ(pthread_sigqueue(pthread_self(), SIGRTMIN + 5, value),
			 0);
	}
	CHECK_EQ(nr_ordered, 0);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	CHECK_EQ(nr_ordered, 10);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(order[i], i);
	return arg;
}

TEST(real_time_signals_queue)
{
	handle(SIGRTMIN + 5, note_value, 0);
	thread_join(thread_start(queue_to_self, NULL));
}

static void *fill_queue(void *arg)
{
	sigset_t set = set_of(SIGUSR1);
	union sigval value = { .sival_int = 0 };
	int rc;

	CHECK_EQ(sigaddset(&set, SIGRTMIN + 5), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	do
		rc = pthread_sigqueue(pthread_self(), SIGRTMIN + 5, value);
	while (rc == 0);
	CHECK_EQ(rc, EAGAIN);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(raise(SIGUSR1), 0);
	set = set_of(SIGUSR1);
	CHECK_EQ(sigtimedwait(&set, NULL, &(struct timespec){ 0, 0 }), SIGUSR1);
	return arg;
}

/*
 * Standard signals need no queue entry. The user's other processes count
 * against the same limit and keep their signals.
 */
TEST(full_queue)
{
	const struct rlimit few = { 100, 100 };

	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &few), 0);
	thread_join(thread_start(fill_queue, NULL));
}

/* --- masks ---------------------------------------------------------------- */

static _Atomic int step;

static void *block_and_look(void *arg)
{
	sigset_t set = set_of(SIGUSR1), pending;

	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	step = 1;
	await_count(&step, 2);
	CHECK_EQ(nr_mine, 0);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	/* merged, and delivered before the call returns */
	CHECK_EQ(nr_mine, 1);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(!sigismember(&pending, SIGUSR1));
	return arg;
}

TEST(blocked_signals_wait)
{
	handle(SIGUSR1, note, 0);
	for (int i = 0; i < 50; i++) {
		pthread_t t;

		step = 0;
		t = thread_start(block_and_look, NULL);
		await_count(&step, 1);
		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		step = 2;
		thread_join(t);
	}
}

/* --- interrupted waits ---------------------------------------------------- */

static sem_t permit;
static _Atomic int result, error;

static void *wait_once(void *arg)
{
	step = 1;
	errno = 0;
	result = sem_wait(&permit);
	error = errno;
	step = 2;
	return arg;
}

/* Handlers without SA_RESTART end the wait, others do not. */
static void check_interrupts(void *(*wait)(void *))
{
	pthread_t t;

	handle(SIGUSR1, note, 0);
	handle(SIGUSR2, note, SA_RESTART);
	t = thread_start(wait, NULL);
	await_count(&step, 1);
	for (int i = 1; i <= 20; i++) {
		CHECK_EQ(pthread_kill(t, SIGUSR2), 0);
		await_count(&nr_handled, i);
	}
	CHECK_EQ(step, 1);
	/*
	 * A signal just before the wait does not end it, so send until it does.
	 */
	while (step == 1) {
		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		sleep_ms(1);
	}
	thread_join(t);
	CHECK_EQ(result, -1);
	CHECK_EQ(error, EINTR);
}

TEST(eintr_and_restart)
{
	CHECK_EQ(sem_init(&permit, 0, 0), 0);
	check_interrupts(wait_once);
}

static int pipe_ends[2];

static void *read_once(void *arg)
{
	char c;

	step = 1;
	errno = 0;
	result = (int)read(pipe_ends[0], &c, 1);
	error = errno;
	step = 2;
	return arg;
}

TEST(system_calls_too)
{
	CHECK_EQ(pipe(pipe_ends), 0);
	check_interrupts(read_once);
}

/* --- waiting for signals -------------------------------------------------- */

static void *take_all(void *arg)
{
	sigset_t set = set_of(SIGUSR1);
	siginfo_t info;
	struct timespec soon = { 0, 5 * NS_PER_MS };
	int sig;

	sigaddset(&set, SIGTERM);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(sigwait(&set, &sig), 0);
		CHECK_EQ(sig, SIGUSR1);
		step++;
	}
	CHECK_ERRNO(sigtimedwait(&set, &info, &soon), EAGAIN);
	step++;
	CHECK_EQ(sigwaitinfo(&set, &info), SIGTERM);
	return arg;
}

TEST(a_thread_takes_the_signals)
{
	sigset_t set = set_of(SIGUSR1), pending;
	pthread_t t;
	int sig;

	sigaddset(&set, SIGTERM);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	t = thread_start(take_all, NULL);
	for (int i = 0; i < 100; i++) {
		if (i & 1)
			CHECK_EQ(kill(getpid(), SIGUSR1), 0);
		else
			CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		await_count(&step, i + 1);
	}
	await_count(&step, 101);
	CHECK_EQ(kill(getpid(), SIGTERM), 0);
	thread_join(t);
	/* The signal is pending for the process; then a sigwait takes it. */
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR1);
}

static void *answer_signals(void *arg)
{
	sigset_t set = set_of(SIGUSR1);
	int sig;

	for (int i = 0; i < 2000; i++) {
		CHECK_EQ(sigwait(&set, &sig), 0);
		CHECK_EQ(sem_post(arg), 0);
	}
	return NULL;
}

/* The signal arrives while the thread is about to wait for the next one. */
TEST(signals_beside_the_begin_of_waits)
{
	sigset_t set = set_of(SIGUSR1);
	pthread_t t;
	sem_t sem;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	t = thread_start(answer_signals, &sem);
	for (int i = 0; i < 2000; i++) {
		CHECK_EQ(kill(getpid(), SIGUSR1), 0);
		CHECK_EQ(sem_wait(&sem), 0);
	}
	thread_join(t);
}

static void signal_parent(int from)
{
	char c;

	while (read(from, &c, 1) == 1)
		kill(getppid(), SIGUSR1);
	_exit(0);
}

TEST(sigsuspend_misses_nothing)
{
	sigset_t set = set_of(SIGUSR1), open;
	pthread_t t;
	pid_t child;

	handle(SIGUSR1, note, 0);
	CHECK_EQ(sem_init(&permit, 0, 0), 0);
	CHECK_EQ(pipe(pipe_ends), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, &open), 0);
	t = thread_start(wait_for_permit, &permit);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		close(pipe_ends[1]);
		signal_parent(pipe_ends[0]);
	}
	for (int i = 0; i < 300; i++) {
		CHECK_EQ(write(pipe_ends[1], "x", 1), 1);
		CHECK_ERRNO(sigsuspend(&open), EINTR);
		CHECK_EQ(nr_handled, i + 1);
		CHECK(handled_by == pthread_self());
	}
	close(pipe_ends[1]);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(sem_post(&permit), 0);
	thread_join(t);
}

static void die_of_kill(void)
{
	sem_t sem;
	pthread_t t;

	sem_init(&sem, 0, 0);
	t = thread_start(wait_for_permit, &sem);
	pthread_kill(t, SIGUSR1);
	thread_join(t);
}

TEST(default_action_of_a_kill)
{
	CHECK_EQ(child_signal(die_of_kill), SIGUSR1);
}
