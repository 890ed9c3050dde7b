/* SPDX-License-Identifier: MIT */
/*
 * Two groups of threads beside each other. Measures how many steps each group
 * makes in a second, and the longest time for which one of its threads made no
 * step.
 *
 *     bench_beside KIND KIND MS       four threads of each kind, for MS ms
 *     bench_beside                    the kinds
 *
 * Does not depend on weft.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../lib/clock.h"

enum { NR_THREADS = 4, NR_GROUPS = 2 };

#define NS_PER_US 1000.0
#define NS_PER_MS 1e6

struct group;

struct member {
	_Alignas(128) struct group *group;
	int i;
	double last_ns, longest_ns;
	uint64_t nr_steps;
	sem_t sem;
	volatile int flag;
	int pipe[2], socket[2];
	pthread_t thread;
};

struct group {
	void (*step)(struct member *m);
	struct member members[NR_THREADS];
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int nr_queued;
};

static struct group groups[NR_GROUPS];
static volatile bool is_over;
static int file;
static FILE *null;

static struct member *partner(struct member *m)
{
	return &m->group->members[m->i ^ 1];
}

static double now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void compute_us(double us)
{
	double end_ns = now_ns() + us * NS_PER_US;

	while (now_ns() < end_ns)
		;
}

/* Sends a byte to the peer and receives one. */
static void exchange(int out, int in)
{
	char byte = 1;

	if (write(out, &byte, 1) != 1 || read(in, &byte, 1) != 1)
		exit(1);
}

/* --- kinds --------------------------------------------------------------- */

static void step_compute(struct member *m)
{
	compute_us(2);
}

static void step_burst(struct member *m)
{
	compute_us(300);
	usleep(300);
}

static void step_yield(struct member *m)
{
	sched_yield();
}

static void step_sleep(struct member *m)
{
	usleep(1000);
}

static void step_doze(struct member *m)
{
	usleep(100);
}

/* Backs off by a sleep of 0; another kind backs off by sched_yield. */
static void step_sleep_0(struct member *m)
{
	usleep(0);
}

static void step_sem(struct member *m)
{
	sem_post(&partner(m)->sem);
	sem_wait(&m->sem);
}

static void step_mutex(struct member *m)
{
	pthread_mutex_lock(&m->group->mutex);
	compute_us(50);
	pthread_mutex_unlock(&m->group->mutex);
}

/*
 * Passes items through a queue with room for eight: two threads put, two take.
 */
static void step_queue(struct member *m)
{
	struct group *g = m->group;
	bool puts = m->i % 2 == 0;

	pthread_mutex_lock(&g->mutex);
	while (puts ? g->nr_queued == 8 : g->nr_queued == 0)
		pthread_cond_wait(&g->cond, &g->mutex);
	g->nr_queued += puts ? 1 : -1;
	pthread_cond_broadcast(&g->cond);
	pthread_mutex_unlock(&g->mutex);
	compute_us(10);
}

static void step_flag(struct member *m)
{
	partner(m)->flag = 1;
	while (!m->flag)
		sched_yield();
	m->flag = 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static void step_create(struct member *m)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) != 0)
		exit(1);
	pthread_join(thread, NULL);
}

static void step_pipe(struct member *m)
{
	exchange(partner(m)->pipe[1], m->pipe[0]);
}

/* Exchanges a byte with another process. */
static void step_socket(struct member *m)
{
	exchange(m->socket[0], m->socket[0]);
}

static void step_poll(struct member *m)
{
	struct pollfd p = { m->pipe[0], POLLIN, 0 };

	poll(&p, 1, 1);
}

static void step_pread(struct member *m)
{
	char bytes[4096];

	for (int i = 0; i < 10; i++) {
		if (pread(file, bytes, sizeof(bytes), 0) < 0)
			exit(1);
	}
}

static void step_stdio(struct member *m)
{
	for (int i = 0; i < 20; i++)
		fprintf(null, "%d %s\n", i, "hello");
}

static void step_malloc(struct member *m)
{
	void *parts[32];

	for (size_t i = 0; i < 32; i++)
		parts[i] = malloc(100 + 200 * i);
	for (size_t i = 0; i < 32; i++)
		free(parts[i]);
}

static const struct kind {
	const char *name;
	void (*step)(struct member *m);
} kinds[] = {
	{ "compute", step_compute }, { "burst", step_burst },
	{ "yield", step_yield },     { "sleep", step_sleep },
	{ "doze", step_doze },	     { "sleep_0", step_sleep_0 },
	{ "sem", step_sem },	     { "mutex", step_mutex },
	{ "queue", step_queue },     { "flag", step_flag },
	{ "create", step_create },   { "pipe", step_pipe },
	{ "socket", step_socket },   { "poll", step_poll },
	{ "pread", step_pread },     { "stdio", step_stdio },
	{ "malloc", step_malloc },
};

enum { NR_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* --- running ------------------------------------------------------------- */

static void *run(void *arg)
{
	struct member *m = arg;

	m->last_ns = now_ns();
	while (!is_over) {
		double ns;

		m->group->step(m);
		ns = now_ns();
		if (ns - m->last_ns > m->longest_ns)
			m->longest_ns = ns - m->last_ns;
		m->last_ns = ns;
		m->nr_steps++;
	}
	return NULL;
}

static void prepare(struct group *g)
{
	pthread_mutex_init(&g->mutex, NULL);
	pthread_cond_init(&g->cond, NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		struct member *m = &g->members[i];

		m->group = g;
		m->i = i;
		sem_init(&m->sem, 0, 0);
		if (pipe(m->pipe) != 0 ||
		    socketpair(AF_UNIX, SOCK_STREAM, 0, m->socket) != 0)
			exit(1);
	}
}

/* Returns each received byte to its sender, for all members of both groups. */
static void answer(void)
{
	struct pollfd p[NR_GROUPS * NR_THREADS];
	int nr = 0;

	for (int g = 0; g < NR_GROUPS; g++) {
		for (int i = 0; i < NR_THREADS; i++)
			p[nr++] =
				(struct pollfd){ groups[g].members[i].socket[1],
						 POLLIN, 0 };
	}
	while (poll(p, (nfds_t)nr, -1) > 0) {
		for (int i = 0; i < nr; i++) {
			char byte;

			if (p[i].revents != 0 &&
			    (read(p[i].fd, &byte, 1) != 1 ||
			     write(p[i].fd, &byte, 1) != 1))
				_exit(0);
		}
	}
}

/* A thread that still waits has waited since its last step. */
static void report(const struct group *g, double seconds)
{
	double longest_ns = 0, end_ns = now_ns();
	uint64_t sum = 0;

	for (int i = 0; i < NR_THREADS; i++) {
		const struct member *m = &g->members[i];
		double since_ns = end_ns - m->last_ns;

		since_ns = since_ns > m->longest_ns ? since_ns : m->longest_ns;
		longest_ns = since_ns > longest_ns ? since_ns : longest_ns;
		sum += m->nr_steps;
	}
	printf("%.0f %.2f\n", (double)sum / seconds, longest_ns / NS_PER_MS);
}

static void (*step_of(const char *name))(struct member *)
{
	for (int i = 0; i < NR_KINDS; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].step;
	}
	fprintf(stderr, "bench_beside: no kind %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	double start_ns;
	pid_t peer;

	if (argc != 4) {
		for (int i = 0; i < NR_KINDS; i++)
			puts(kinds[i].name);
		return argc == 1 ? 0 : 2;
	}
	file = open(argv[0], O_RDONLY | O_CLOEXEC);
	null = fopen("/dev/null", "w");
	for (int g = 0; g < NR_GROUPS; g++) {
		groups[g].step = step_of(argv[1 + g]);
		prepare(&groups[g]);
	}
	peer = fork();
	if (peer == 0)
		answer();
	if (peer < 0 || file < 0 || null == NULL)
		return 1;
	for (int i = 0; i < NR_GROUPS * NR_THREADS; i++) {
		struct member *m =
			&groups[i / NR_THREADS].members[i % NR_THREADS];

		if (pthread_create(&m->thread, NULL, run, m) != 0)
			return 1;
	}
	start_ns = now_ns();
	usleep((useconds_t)atoi(argv[3]) * 1000);
	is_over = true;
	for (int g = 0; g < NR_GROUPS; g++)
		report(&groups[g], (now_ns() - start_ns) / 1e9);
	fflush(stdout);
	kill(peer, SIGKILL);
	_exit(0); /* some threads wait for ended ones, so do not join */
}
