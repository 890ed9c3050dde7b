/* SPDX-License-Identifier: MIT */
/* Ways to wait with the kernel's and with libc's means. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring.h"

static void nothing(void)
{
}

/* --- real-time signals -------------------------------------------------- */

static sigset_t token;

static void block_signal(void)
{
	sigemptyset(&token);
	sigaddset(&token, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &token, NULL);
}

static void wait_for_signal(long me)
{
	int sig;

	sigwait(&token, &sig);
}

static void send_signal(long to)
{
	if (pthread_kill(members[to].thread, SIGRTMIN) != 0)
		abort();
}

/* --- plain polling ------------------------------------------------------- */

/* The data that each member has read last, each on a separate cache line. */
struct mark {
	_Atomic uint64_t seen;
	_Atomic int is_waiting;
} __attribute__((aligned(64)));

static struct mark *marks;

static void make_marks(void)
{
	marks = ring_allocate((size_t)nr_members * sizeof(*marks));
}

static uint64_t buffer_of(long n)
{
	return atomic_load_explicit(&members[n].buffer, memory_order_acquire);
}

static uint64_t seen_by(long n)
{
	return atomic_load_explicit(&marks[n].seen, memory_order_relaxed);
}

static void see(long n)
{
	atomic_store_explicit(&marks[n].seen, buffer_of(n),
			      memory_order_relaxed);
}

static void poll_buffer(long me)
{
	while (buffer_of(me) == seen_by(me))
		;
	see(me);
}

static void leave_to_poller(long to)
{
}

/* --- an agent that polls, and signals ------------------------------------ */

/*
 * The agent runs on the last CPU, the members on the others. A waiting member
 * sets is_waiting; the agent clears it before it signals.
 */
static void *agent(void *arg)
{
	for (;;) {
		for (long i = 0; i < nr_members; i++) {
			if (!marks[i].is_waiting || buffer_of(i) == seen_by(i))
				continue;
			marks[i].is_waiting = 0;
			send_signal(i);
		}
	}
	return NULL;
}

static void wait_for_agent(long me)
{
	marks[me].is_waiting = 1;
	wait_for_signal(me);
	see(me);
}

static cpu_set_t agents_cpu;

/* Members inherit the rest of the CPUs from main. */
static void make_room_for_agent(void)
{
	cpu_set_t allowed;
	int last = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (CPU_COUNT(&allowed) < 2)
		bench_impossible("a CPU for the agent", ENODEV);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed))
			last = cpu;
	}
	CPU_ZERO(&agents_cpu);
	CPU_SET(last, &agents_cpu);
	CPU_CLR(last, &allowed);
	sched_setaffinity(0, sizeof(allowed), &allowed);
	make_marks();
	block_signal();
}

static void start_agent(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(agents_cpu), &agents_cpu);
	if (pthread_create(&thread, &attr, agent, NULL) != 0)
		bench_impossible("a CPU for the agent", EINVAL);
}

/* --- condition variables ------------------------------------------------- */

static struct box {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool is_full;
} __attribute__((aligned(64))) * boxes;

static void make_boxes(void)
{
	boxes = ring_allocate((size_t)nr_members * sizeof(*boxes));
	for (long i = 0; i < nr_members; i++) {
		pthread_mutex_init(&boxes[i].mutex, NULL);
		pthread_cond_init(&boxes[i].cond, NULL);
	}
}

static void wait_for_box(long me)
{
	pthread_mutex_lock(&boxes[me].mutex);
	while (!boxes[me].is_full)
		pthread_cond_wait(&boxes[me].cond, &boxes[me].mutex);
	boxes[me].is_full = false;
	pthread_mutex_unlock(&boxes[me].mutex);
}

static void fill_box(long to)
{
	pthread_mutex_lock(&boxes[to].mutex);
	boxes[to].is_full = true;
	pthread_cond_signal(&boxes[to].cond);
	pthread_mutex_unlock(&boxes[to].mutex);
}

/* --- futexes -------------------------------------------------------------- */

static struct flag {
	_Atomic uint32_t is_up;
} __attribute__((aligned(64))) * flags;

static void make_flags(void)
{
	flags = ring_allocate((size_t)nr_members * sizeof(*flags));
}

static void wait_for_flag(long me)
{
	while (atomic_exchange(&flags[me].is_up, 0) == 0)
		syscall(SYS_futex, &flags[me].is_up, FUTEX_WAIT_PRIVATE, 0,
			NULL, NULL, 0);
}

static void raise_flag(long to)
{
	flags[to].is_up = 1;
	syscall(SYS_futex, &flags[to].is_up, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
		0);
}

/* --- semaphores ----------------------------------------------------------- */

static sem_t *sems;

static void make_sems(void)
{
	sems = ring_allocate((size_t)nr_members * sizeof(*sems));
	for (long i = 0; i < nr_members; i++)
		sem_init(&sems[i], 0, 0);
}

static void wait_for_sem(long me)
{
	while (sem_wait(&sems[me]) != 0)
		;
}

static void post_sem(long to)
{
	sem_post(&sems[to]);
}

const struct way ring_ways[] = {
	{ "signal", block_signal, nothing, wait_for_signal, send_signal },
	{ "poll", make_marks, nothing, poll_buffer, leave_to_poller },
	{ "agent_signal", make_room_for_agent, start_agent, wait_for_agent,
	  leave_to_poller },
	{ "cond", make_boxes, nothing, wait_for_box, fill_box },
	{ "futex", make_flags, nothing, wait_for_flag, raise_flag },
	{ "sem", make_sems, nothing, wait_for_sem, post_sem },
	{ NULL, NULL, NULL, NULL, NULL },
};
