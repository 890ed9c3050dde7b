/* SPDX-License-Identifier: MIT */
/*
 * Acts with ends: processes that end, waits that a thread leaves by a jump, and
 * threads that end while other threads name them.
 */
#include "torture.h"

#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "child.h"

#define JUMP_SIGNAL (SIGRTMIN + 4)
#define NR_SHARED 10

/* --- a child that shares memory, until it is killed ----------------------- */

struct shared {
	pthread_mutex_t mutex, robust;
	pthread_cond_t cond;
	pthread_barrier_t barrier;
	long sum;
	_Atomic int is_held;
};

static struct shared *make_shared(void)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;
	pthread_barrierattr_t barrier;

	CHECK(s != MAP_FAILED);
	CHECK_EQ(pthread_mutexattr_init(&mutex), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&mutex, true), 0);
	CHECK_EQ(pthread_mutex_init(&s->mutex, &mutex), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST), 0);
	CHECK_EQ(pthread_mutex_init(&s->robust, &mutex), 0);
	CHECK_EQ(pthread_condattr_init(&cond), 0);
	CHECK_EQ(pthread_condattr_setpshared(&cond, true), 0);
	CHECK_EQ(pthread_cond_init(&s->cond, &cond), 0);
	CHECK_EQ(pthread_barrierattr_init(&barrier), 0);
	CHECK_EQ(pthread_barrierattr_setpshared(&barrier, true), 0);
	CHECK_EQ(pthread_barrier_init(&s->barrier, &barrier, 4), 0);
	return s;
}

static void *take_part(void *arg)
{
	struct shared *s = arg;
	int rc;

	for (int i = 0; i < NR_SHARED; i++) {
		CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
		s->sum++;
		CHECK_EQ(pthread_cond_broadcast(&s->cond), 0);
		CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	}
	CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
	while (s->sum < 4L * NR_SHARED)
		CHECK_EQ(pthread_cond_wait(&s->cond, &s->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	rc = pthread_barrier_wait(&s->barrier);
	CHECK(rc == 0 || rc == PTHREAD_BARRIER_SERIAL_THREAD);
	return NULL;
}

void share_with_child(uint64_t *random)
{
	struct shared *s = make_shared();
	pid_t child = fork();
	pthread_t threads[2];

	CHECK(child >= 0);
	if (child == 0)
		torture_end_in_time();
	for (int i = 0; i < 2; i++)
		threads[i] = torture_start(random, take_part, s);
	threads_join(threads, 2);
	if (child == 0) {
		CHECK_EQ(pthread_mutex_lock(&s->robust), 0);
		s->is_held = 1;
		for (;;)
			pause();
	}
	while (!s->is_held)
		stress_disturb(random);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(pthread_mutex_lock(&s->robust), EOWNERDEAD);
	CHECK_EQ(pthread_mutex_consistent(&s->robust), 0);
	CHECK_EQ(pthread_mutex_unlock(&s->robust), 0);
	CHECK_EQ(child_wait(child), SIGKILL);
	CHECK_EQ(s->sum, 4L * NR_SHARED);
	CHECK_EQ(munmap(s, sizeof(*s)), 0);
}

/* --- children that end while their threads go on -------------------------- */

#define STATUS 7

static void *go_on(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	for (;;) {
		free(malloc((size_t)random_below(&random, 3000)));
		stress_disturb(&random);
	}
	return NULL;
}

/* Uses _exit: another thread of the parent may have held exit's lock. */
static void *end_process(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	for (long i = random_below(&random, 20); i > 0; i--)
		stress_disturb(&random);
	switch (random_below(&random, 3)) {
	case 0:
		abort();
	case 1:
		raise(SIGKILL);
		break;
	default:
		break;
	}
	_exit(STATUS);
}

void end_child(uint64_t *random)
{
	const struct rlimit none = { 0, 0 };
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		torture_end_in_time();
		setrlimit(RLIMIT_CORE, &none);
		for (int i = 0; i < 3; i++)
			torture_start(random, go_on,
				      (void *)random_next(random));
		torture_start(random, end_process, (void *)random_next(random));
		if (random_below(random, 2))
			pthread_exit(NULL);
		for (;;)
			pause();
	}
	status = child_wait(child);
	CHECK(status == STATUS << 8 || status == SIGKILL ||
	      WTERMSIG(status) == SIGABRT);
}

/* --- jumps out of waits --------------------------------------------------- */

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;

static void on_jump(int sig)
{
	if (!may_jump)
		return;
	may_jump = 0;
	siglongjmp(back, 1);
}

struct jumper {
	uint64_t random;
	sem_t sem;
	int ends[2];
	_Atomic int is_over;
};

static void wait_somehow(struct jumper *j)
{
	struct timespec ts = torture_soon(&j->random, CLOCK_REALTIME);
	char byte = 'j';

	switch (random_below(&j->random, 7)) {
	case 0:
		sem_wait(&j->sem);
		break;
	case 1:
		sem_timedwait(&j->sem, &ts);
		break;
	case 2:
		read(j->ends[0], &byte, 1);
		break;
	case 3:
		recv(j->ends[0], &byte, 1, 0);
		break;
	case 4:
		poll(&(struct pollfd){ j->ends[0], POLLIN, 0 }, 1, 50);
		break;
	case 5:
		sched_yield();
		break;
	default:
		pause();
		break;
	}
	CHECK_EQ(byte, 'j');
}

static void *jump_on(void *arg)
{
	struct jumper *volatile j = arg;
	sigset_t set;

	/* Other handlers count, so no jump may leave them. */
	sigfillset(&set);
	sigdelset(&set, JUMP_SIGNAL);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
	while (!j->is_over) {
		if (sigsetjmp(back, 1) != 0)
			continue;
		may_jump = 1;
		wait_somehow(j);
		may_jump = 0;
	}
	return NULL;
}

static void send_jump(pthread_t thread)
{
	int err = pthread_kill(thread, JUMP_SIGNAL);

	CHECK(err == 0 || err == EAGAIN);
}

/*
 * Signals make a thread jump out of its waits, with or without an event. The
 * thread must be able to wait afterwards as before.
 */
void jump_out(uint64_t *random)
{
	struct jumper j = { .random = random_next(random) };
	int64_t start = now_ns();
	pthread_t thread;

	CHECK_EQ(sem_init(&j.sem, 0, 0), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, j.ends), 0);
	thread = torture_start(random, jump_on, &j);
	for (int i = 0; i < 10; i++) {
		stress_disturb(random);
		if (random_below(random, 3) == 0)
			CHECK_EQ(send(j.ends[1], "j", 1, MSG_DONTWAIT), 1);
		if (random_below(random, 3) == 0)
			CHECK_EQ(sem_post(&j.sem), 0);
		send_jump(thread);
	}
	j.is_over = 1;
	while (pthread_tryjoin_np(thread, NULL) != 0) {
		CHECK(elapsed_ms(start) < 30000);
		send_jump(thread);
		usleep(200);
	}
	CHECK_EQ(close(j.ends[0]), 0);
	CHECK_EQ(close(j.ends[1]), 0);
}

void torture_ends_begin(void)
{
	struct sigaction action = { .sa_handler = on_jump };

	CHECK_EQ(sigaction(JUMP_SIGNAL, &action, NULL), 0);
}

/* --- threads that end while others name them ------------------------------ */

static void *end_soon(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	stress_disturb(&random);
	return NULL;
}

void name_ending(uint64_t *random)
{
	pthread_t thread =
		torture_start(random, end_soon, (void *)random_next(random));
	struct sched_param param;
	int policy, err = 0;
	char name[16];

	for (int i = 0; i < 6; i++) {
		switch (random_below(random, 5)) {
		case 0:
			err = pthread_kill(thread, SIGUSR1);
			break;
		case 1:
			CHECK_EQ(pthread_cancel(thread), 0);
			break;
		case 2:
			pthread_getname_np(thread, name, sizeof(name));
			break;
		case 3:
			err = pthread_getschedparam(thread, &policy, &param);
			break;
		default:
			stress_disturb(random);
			break;
		}
		CHECK(err == 0 || err == ESRCH);
	}
	if (random_below(random, 2))
		thread_join(thread);
	else
		CHECK_EQ(pthread_detach(thread), 0);
}

/* --- cancellation at any instruction -------------------------------------- */

static void *count_for_ever(void *arg)
{
	volatile long *nr = arg;

	CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL), 0);
	for (;;)
		*nr = *nr + 1;
	return NULL;
}

/*
 * The thread blocks all signals, as a cancelled handler would leave its count
 * half done.
 */
void cancel_at_once(uint64_t *random)
{
	volatile long nr = 0;
	sigset_t all, old;
	pthread_t thread;
	long seen;

	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &all, &old), 0);
	thread = torture_start(random, count_for_ever, (void *)&nr);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
	stress_disturb(random);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	seen = nr;
	stress_disturb(random);
	CHECK_EQ(nr, seen);
}
