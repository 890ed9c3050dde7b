/* SPDX-License-Identifier: MIT */
/*
 * Threads change each other's policies and priorities at random, by all
 * functions for that, as root and as an ordinary user. They print each result,
 * which must be the same natively and on weft. TEST_SEED selects other calls.
 * libc remembers the values set by its pthread_ functions, whatever the sched_
 * functions do. So each thread is changed by one kind of function only.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/random.h"
#include "threading.h"

enum { NR_ACTORS = 5, NR_CALLS = 120, NOBODY = 65534 };

static const int policies[] = { SCHED_OTHER, SCHED_FIFO, SCHED_RR, SCHED_BATCH,
				SCHED_IDLE,  SCHED_FIFO, SCHED_RR, 6,
				77,	     -1 };
static const int priorities[] = { 0, 0, 1, 2, 5, 10, 20, 50, 98, 99, 100, -1 };

struct call {
	int kind, target, policy, priority, inherit;
};

static struct actor {
	pthread_t thread;
	pid_t tid;
	sem_t go, done;
	struct call call;
} actors[NR_ACTORS];

static void *tell_policy(void *arg)
{
	struct sched_param param;

	CHECK_EQ(sched_getparam(0, &param), 0);
	*(int *)arg = sched_getscheduler(0) * 100 + param.sched_priority;
	return NULL;
}

static void create(const struct call *c)
{
	struct sched_param param = { .sched_priority = c->priority };
	pthread_attr_t attr;
	pthread_t thread;
	int err, told = -1;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	printf("create: %d", pthread_attr_setschedpolicy(&attr, c->policy));
	printf(" %d", pthread_attr_setschedparam(&attr, &param));
	printf(" %d", pthread_attr_setinheritsched(&attr, c->inherit));
	err = pthread_create(&thread, &attr, tell_policy, &told);
	if (err == 0)
		thread_join(thread);
	printf(" %d %d", err, told);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static void tell_interval(pid_t tid)
{
	int policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
	struct timespec ts;

	CHECK_EQ(sched_rr_get_interval(tid, &ts), 0);
	/* For other policies the kernel returns its present slice. */
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		printf("interval: %ld %ld", (long)ts.tv_sec, ts.tv_nsec);
}

static void carry_out(const struct call *c)
{
	struct sched_param param = { .sched_priority = c->priority };
	pthread_t thread = actors[c->target | 1].thread;
	pid_t tid = actors[c->target & ~1].tid;
	struct rlimit limit = { (rlim_t)c->target * 5, RLIM_INFINITY };

	printf("%d %d %#x %d: ", c->kind, c->target, c->policy, c->priority);
	switch (c->kind) {
	case 0:
		printf("%d", pthread_setschedparam(thread, c->policy, &param));
		break;
	case 1:
		printf("%d", pthread_setschedprio(thread, c->priority));
		break;
	case 2:
		errno = 0;
		sched_setscheduler(tid, c->policy, &param);
		printf("%d", errno);
		break;
	case 3:
		errno = 0;
		sched_setparam(tid, &param);
		printf("%d", errno);
		break;
	case 4:
		tell_interval(actors[c->target].tid);
		break;
	case 5:
		create(c);
		break;
	default:
		if (geteuid() == 0)
			break;
		CHECK_EQ(prlimit(0, RLIMIT_RTPRIO, NULL, &limit), 0);
		limit.rlim_cur = (rlim_t)c->target * 5;
		if (limit.rlim_cur > limit.rlim_max)
			limit.rlim_cur = limit.rlim_max;
		CHECK_EQ(setrlimit(RLIMIT_RTPRIO, &limit), 0);
	}
}

static void show(const struct actor *a)
{
	struct sched_param param;
	int policy;

	CHECK_EQ(sched_getparam(a->tid, &param), 0);
	printf(" | %#x %d", sched_getscheduler(a->tid), param.sched_priority);
	if (((a - actors) & 1) == 0)
		return;
	CHECK_EQ(pthread_getschedparam(a->thread, &policy, &param), 0);
	printf(" %#x %d", policy, param.sched_priority);
}

static void *act(void *arg)
{
	struct actor *a = arg;

	a->tid = gettid();
	CHECK_EQ(sem_post(&a->done), 0);
	for (;;) {
		while (sem_wait(&a->go) != 0)
			CHECK_EQ(errno, EINTR);
		carry_out(&a->call);
		CHECK_EQ(sem_post(&a->done), 0);
	}
	return NULL;
}

static void await(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		CHECK_EQ(errno, EINTR);
}

static struct call random_call(struct test_random *r)
{
	struct call c = {
		.kind = (int)test_random(r, 7),
		.target = (int)test_random(r, NR_ACTORS - 1),
		.policy = policies[test_random(r, 10)],
		.priority = priorities[test_random(r, 12)],
		.inherit = (int)test_random(r, 3),
	};

	if (c.policy >= 0 && test_random(r, 5) == 0)
		c.policy |= SCHED_RESET_ON_FORK;
	/* libc remembers a policy with that bit, but refuses to set one. */
	if (c.kind < 2)
		c.policy &= ~SCHED_RESET_ON_FORK;
	return c;
}

static void run(uint64_t seed)
{
	struct test_random r = { seed };

	for (int i = 0; i < NR_ACTORS; i++) {
		CHECK_EQ(sem_init(&actors[i].go, 0, 0), 0);
		CHECK_EQ(sem_init(&actors[i].done, 0, 0), 0);
		actors[i].thread = thread_start(act, &actors[i]);
		await(&actors[i].done);
	}
	for (int i = 0; i < NR_CALLS; i++) {
		struct actor *a = &actors[test_random(&r, NR_ACTORS)];

		a->call = random_call(&r);
		CHECK_EQ(sem_post(&a->go), 0);
		await(&a->done);
		for (int k = 0; k < NR_ACTORS; k++)
			show(&actors[k]);
		putchar('\n');
	}
}

static void become_nobody(rlim_t most)
{
	struct rlimit limit = { most, most };

	if (geteuid() != 0)
		return;
	/* In some sandboxes not even root may raise the limit. */
	if (setrlimit(RLIMIT_RTPRIO, &limit) != 0)
		CHECK_EQ(errno, EPERM);
	CHECK_EQ(setresgid(NOBODY, NOBODY, NOBODY), 0);
	CHECK_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

int main(void)
{
	const char *given = getenv("TEST_SEED");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 1;
	int status;

	for (rlim_t i = 0; i < 3; i++) {
		printf("seed %llu\n", (unsigned long long)(seed + i));
		fflush(stdout);
		if (fork() == 0) {
			if (i > 0)
				become_nobody((i - 1) * 20);
			run(seed + i);
			fflush(stdout);
			_exit(0);
		}
		CHECK(wait(&status) > 0);
		CHECK_EQ(status, 0);
	}
	return 0;
}
