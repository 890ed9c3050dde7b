/* SPDX-License-Identifier: MIT */
/*
 * A process that has had threads makes calls that need a single-threaded
 * process, makes threads again, and keeps its state.
 */
#include "unshare.h"

#include <errno.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "signalling.h"

enum { NR_ROUNDS = 20 };

static _Atomic int nr_handled;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	nr_handled++;
}

static void handle_usr1(void)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO };

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

TEST(pending_signals_stay_pending)
{
	const union sigval values[] = { { .sival_int = 7 },
					{ .sival_int = 8 } };
	const struct timespec now = { 0, 0 };
	sigset_t set, pending;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 1);
	sigaddset(&set, SIGRTMIN + 2);
	handle_usr1();
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	unshare_after_threads(3);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(sigqueue(getpid(), SIGRTMIN + 1, values[i]), 0);
	CHECK_EQ(pthread_sigqueue(pthread_self(), SIGRTMIN + 2, values[0]), 0);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK_EQ(nr_handled, 0);
	unshare_after_threads(1);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	/* The kernel delivers the thread's own signals first. */
	CHECK_EQ(sigtimedwait(&set, &info, &now), SIGRTMIN + 2);
	CHECK_EQ(info.si_value.sival_int, 7);
	CHECK_EQ(info.si_pid, getpid());
	CHECK_EQ(sigtimedwait(&set, &info, &now), SIGUSR1);
	CHECK_EQ(info.si_pid, getpid());
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(sigtimedwait(&set, &info, &now), SIGRTMIN + 1);
		CHECK_EQ(info.si_value.sival_int, 7 + i);
	}
	CHECK_ERRNO(sigtimedwait(&set, &info, &now), EAGAIN);
}

TEST(handlers_and_masks_stay)
{
	sigset_t set, old;

	handle_usr1();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	unshare_after_threads(3);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &old), 0);
	CHECK(sigismember(&old, SIGUSR2) && !sigismember(&old, SIGUSR1));
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(nr_handled, 1);
	unshare_after_threads(1);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(nr_handled, 2);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	CHECK_EQ(nr_handled, 3);
}

static char own_stack[64 * 1024];

static void on_own_stack(int sig, siginfo_t *info, void *context)
{
	char here;

	nr_handled += &here >= own_stack &&
		      &here < own_stack + sizeof(own_stack);
}

TEST(the_signal_stack_stays)
{
	stack_t stack = { .ss_sp = own_stack, .ss_size = sizeof(own_stack) };
	struct sigaction action = { .sa_sigaction = on_own_stack,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	unshare_after_threads(2);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	unshare_after_threads(2);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(nr_handled, 2);
}

/* No call of the threads is interrupted: a signal of the process waits until
 * they have ended. */
static void threads_without_usr1(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	unshare_after_threads(2);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
}

TEST(a_timer_goes_on)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR1 };
	struct itimerspec spec = { { 0, NS_PER_MS }, { 0, NS_PER_MS } };
	timer_t timer;
	int before;

	handle_usr1();
	unshare_after_threads(2);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &spec, NULL), 0);
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
		before = nr_handled;
		while (nr_handled == before)
			pause();
		threads_without_usr1();
	}
	CHECK_EQ(timer_delete(timer), 0);
}

static void in_handler(int sig, siginfo_t *info, void *context)
{
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	nr_handled++;
}

TEST(in_a_handler)
{
	struct sigaction action = { .sa_sigaction = in_handler,
				    .sa_flags = SA_SIGINFO };

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	for (int i = 1; i <= 3; i++) {
		unshare_after_threads(2);
		CHECK_EQ(raise(SIGUSR1), 0);
		CHECK_EQ(nr_handled, i);
	}
	unshare_after_threads(2);
}

static pthread_mutex_t held[4];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void make_mutexes(void)
{
	pthread_mutexattr_t attr;

	for (int i = 0; i < 4; i++) {
		CHECK_EQ(pthread_mutexattr_init(&attr), 0);
		if (i == 1)
			pthread_mutexattr_settype(&attr,
						  PTHREAD_MUTEX_RECURSIVE);
		if (i == 2)
			pthread_mutexattr_settype(&attr,
						  PTHREAD_MUTEX_ERRORCHECK);
		if (i == 3)
			pthread_mutexattr_setrobust(&attr,
						    PTHREAD_MUTEX_ROBUST);
		CHECK_EQ(pthread_mutex_init(&held[i], &attr), 0);
	}
}

static void *find_held(void *arg)
{
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_mutex_trylock(&held[i]), EBUSY);
	CHECK_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
	return arg;
}

static void *take_all(void *arg)
{
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(pthread_mutex_lock(&held[i]), 0);
		CHECK_EQ(pthread_mutex_unlock(&held[i]), 0);
	}
	CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	return arg;
}

TEST(locks_stay_locked)
{
	pthread_t waiter;

	make_mutexes();
	unshare_after_threads(1);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_mutex_lock(&held[i]), 0);
	CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	CHECK_EQ(pthread_mutex_lock(&held[1]), 0);
	CHECK_EQ(pthread_mutex_lock(&held[2]), EDEADLK);
	CHECK_EQ(pthread_mutex_unlock(&held[1]), 0);
	thread_join(thread_start(find_held, NULL));
	waiter = thread_start(take_all, NULL);
	for (int i = 0; i < 10; i++)
		sched_yield();
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_mutex_unlock(&held[i]), 0);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	thread_join(waiter);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	CHECK_EQ(clock_gettime(clock, &ts), 0);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

TEST(the_clock_of_the_first_thread_does_not_go_back)
{
	clockid_t own;
	int64_t last = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < 5; i++) {
		int64_t now;

		unshare_after_threads(2);
		CHECK_EQ(pthread_getcpuclockid(pthread_self(), &own), 0);
		while (clock_ns(own) < last + NS_PER_MS)
			;
		now = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		CHECK(now >= last + NS_PER_MS);
		CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
		last = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		CHECK(last >= now);
	}
}

static pthread_key_t key;
static __thread int own_value;

TEST(the_first_thread_keeps_its_state)
{
	pthread_t self = pthread_self();
	char name[16];

	CHECK_EQ(pthread_key_create(&key, NULL), 0);
	CHECK_EQ(pthread_setspecific(key, &key), 0);
	CHECK_EQ(pthread_setname_np(self, "first"), 0);
	own_value = 5;
	unshare_after_threads(2);
	CHECK_EQ(pthread_setname_np(self, "renamed"), 0);
	CHECK_EQ(unshare_alone(CLONE_THREAD), 0);
	CHECK(pthread_equal(self, pthread_self()));
	CHECK_EQ(syscall(SYS_gettid), getpid());
	CHECK(pthread_getspecific(key) == &key);
	CHECK_EQ(pthread_getname_np(self, name, sizeof(name)), 0);
	CHECK_EQ(strcmp(name, "renamed"), 0);
	CHECK_EQ(own_value, 5);
}

/* --- state that belongs to kernel threads --------------------------------- */

enum { NR_CHILDREN = 8 };

static pid_t start_follower(void)
{
	pid_t pid;
	char byte = 0;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ends[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	CHECK(pid > 0);
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

/* The first thread moves between kernel threads while it makes the children. */
TEST(children_that_are_to_end_with_their_parent_live)
{
	pid_t children[NR_CHILDREN];
	struct stat st;

	for (int i = 0; i < NR_CHILDREN; i++) {
		pthread_t threads[4];

		threads_start(threads, 4, thread_yield_often, NULL);
		for (int k = 0; k < 100; k++)
			sched_yield();
		children[i] = start_follower();
		threads_join(threads, 4);
	}
	CHECK_EQ(stat("/proc/self/task", &st), 0);
	CHECK_EQ(prctl(PR_SET_TIMERSLACK, 60000), 0);
	CHECK_EQ(unshare(CLONE_FS), 0);
	unshare_after_threads(2);
	await_rest();
	for (int i = 0; i < NR_CHILDREN; i++) {
		await_rest_of(children[i]);
		CHECK_EQ(waitpid(children[i], NULL, WNOHANG), 0);
		CHECK_EQ(kill(children[i], SIGTERM), 0);
		CHECK_EQ(waitpid(children[i], NULL, 0), children[i]);
	}
}

TEST(a_queue_still_notifies)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR1 };
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 1 };
	char name[64];
	mqd_t queue;

	handle_usr1();
	snprintf(name, sizeof(name), "/unshare-%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	if (queue < 0)
		SKIP("there are no message queues");
	mq_unlink(name);
	unshare_after_threads(2);
	CHECK_EQ(mq_notify(queue, &event), 0);
	CHECK_EQ(unshare(CLONE_FS), 0);
	unshare_after_threads(2);
	CHECK_EQ(mq_send(queue, "x", 1, 0), 0);
	while (nr_handled == 0)
		sched_yield();
}
