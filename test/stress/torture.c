/* SPDX-License-Identifier: MIT */
/*
 * A random mixture of all that threads do. A fixed number of workers make one
 * act after the other while signals and timers interrupt them anywhere. Money
 * is neither made nor lost, permits, tickets and bytes come back, and queued
 * signals arrive once each, even if threads are cancelled, joined or fork
 * meanwhile.
 */
#include "torture.h"

#include "modules.h"

#define NR_WORKERS 12

static pthread_t workers[NR_WORKERS];
static pthread_barrier_t all_there;
static long nr_rounds;

pthread_t torture_worker(long number)
{
	return workers[number];
}

long torture_nr_workers(void)
{
	return NR_WORKERS;
}

pthread_t torture_start(uint64_t *random, void *(*start)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	if (random_below(random, 3) == 0)
		CHECK_EQ(pthread_attr_setstacksize(
				 &attr, (64UL << 10)
						<< random_below(random, 6)),
			 0);
	if (random_below(random, 8) == 0)
		CHECK_EQ(pthread_attr_setguardsize(&attr, 0), 0);
	CHECK_EQ(pthread_create(&thread, &attr, start, arg), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return thread;
}

/* --- small things --------------------------------------------------------- */

static void allocate(uint64_t *random)
{
	enum { NR = 8 };
	char *blocks[NR];
	size_t sizes[NR];

	for (int i = 0; i < NR; i++) {
		sizes[i] = 1 + (size_t)random_below(random, 1L << (4 + i * 2));
		blocks[i] = malloc(sizes[i]);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], i, sizes[i]);
	}
	stress_disturb(random);
	for (int i = 0; i < NR; i++) {
		CHECK_EQ(blocks[i][sizes[i] - 1], i);
		free(blocks[i]);
	}
}

static void load_library(uint64_t *random)
{
	void *library = dlopen("libresolv.so.2", RTLD_NOW);

	CHECK(library != NULL);
	CHECK(dlsym(library, "ns_name_ntop") != NULL);
	CHECK_EQ(dlclose(library), 0);
}

/* Calls a module that is loaded and unloaded; each thread has new variables. */
static void *count_in_module(void *next)
{
	int (*tls_next)(void) = (int (*)(void))next;

	CHECK_EQ(tls_next(), 5);
	CHECK_EQ(tls_next(), 6);
	return NULL;
}

static void load_module(uint64_t *random)
{
	char name[64];
	void *module, *next;
	int first;

	snprintf(name, sizeof(name), "../posix/plugins/tls_dynamic%ld.so",
		 1 + random_below(random, 4));
	module = module_open(name);
	next = module_symbol(module, "tls_next");
	first = ((int (*)(void))next)();
	CHECK(first >= 5);
	thread_join(torture_start(random, count_in_module, next));
	CHECK_EQ(((int (*)(void))next)(), first + 1);
	CHECK_EQ(dlclose(module), 0);
}

static void change_self(uint64_t *random)
{
	struct sched_param param = { 0 };
	char name[16];
	cpu_set_t set;

	snprintf(name, sizeof(name), "w%ld", random_below(random, 1000));
	CHECK_EQ(pthread_setname_np(pthread_self(), name), 0);
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_OTHER, &param), 0);
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(set), &set), 0);
	stress_disturb(random);
}

/* --- all together --------------------------------------------------------- */

static struct {
	torture_act *act;
	int weight;
} acts[] = {
	{ transfer, 30 },	 { take_permit, 20 },	  { use_ticket, 20 },
	{ read_or_write, 20 },	 { spin_briefly, 10 },	  { meet, 6 },
	{ detach, 8 },		 { join_in_time, 8 },	  { cancel, 8 },
	{ allocate, 10 },	 { load_library, 2 },	  { change_self, 2 },
	{ signal_worker, 20 },	 { signal_process, 10 },  { use_timer, 4 },
	{ use_sigwait, 4 },	 { fork_child, 2 },	  { spawn_program, 1 },
	{ vfork_and_exec, 2 },	 { change_ids, 1 },	  { move_token, 20 },
	{ converse, 4 },	 { wait_for_events, 10 }, { replace_number, 4 },
	{ accept_together, 3 },	 { count_events, 4 },	  { count_ticks, 4 },
	{ use_futexes, 20 },	 { leave_lock, 10 },	  { lose_sem, 6 },
	{ lose_mutex, 8 },	 { lose_cond, 6 },	  { lose_barrier, 6 },
	{ share_with_child, 1 }, { end_child, 1 },	  { jump_out, 3 },
	{ name_ending, 8 },	 { cancel_at_once, 4 },	  { load_module, 4 },
	{ take_ticks, 4 },	 { start_by_timer, 2 },	  { vfork_on_stack, 4 },
	{ signal_in_wait, 10 },	 { use_rwlock, 4 },	  { meet_often, 4 },
	{ cancel_crowd, 4 },	 { cancel_anywhere, 4 },  { cancel_once, 4 },
	{ lose_values, 6 },	 { fork_together, 1 },	  { run_programs, 1 },
	{ play_with_child, 1 },	 { kill_owners, 1 },
};

static const size_t nr_acts = sizeof(acts) / sizeof(acts[0]);

/* In glibc 2.36 a change of ids may hang if a thread ends meanwhile. */
static bool may_change_ids(void)
{
	return dlsym(RTLD_DEFAULT, "weft_is_active") != NULL;
}

/* Each seed has its own mixture, which leaves some acts out. */
static void mix(void)
{
	uint64_t random = random_start(NR_WORKERS);

	for (size_t i = 1; i < nr_acts; i++) {
		switch (random_below(&random, 4)) {
		case 0:
			acts[i].weight = 0;
			break;
		case 1:
			acts[i].weight *= 5;
			break;
		default:
			break;
		}
		if (acts[i].act == change_ids && !may_change_ids())
			acts[i].weight = 0;
	}
}

static torture_act *choose(uint64_t *random)
{
	long sum = 0, at;

	for (size_t i = 0; i < nr_acts; i++)
		sum += acts[i].weight;
	at = random_below(random, sum);
	for (size_t i = 0;; i++) {
		at -= acts[i].weight;
		if (at < 0)
			return acts[i].act;
	}
}

static void *work(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	pthread_barrier_wait(&all_there);
	for (long i = 0; i < nr_rounds; i++)
		choose (&random)(&random);
	/* Signals continue until all workers have finished. */
	pthread_barrier_wait(&all_there);
	return NULL;
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	nr_rounds = stress_scale(300);
	torture_sync_begin(stress_seed % 2 == 0);
	torture_kernel_begin();
	torture_ends_begin();
	torture_timers_begin();
	torture_faults_begin();
	torture_locks_begin();
	torture_processes_begin();
	mix();
	CHECK_EQ(pthread_barrier_init(&all_there, NULL, NR_WORKERS + 1), 0);
	threads_start_numbered(workers, NR_WORKERS, work);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&all_there);
	threads_join(workers, NR_WORKERS);
	torture_kernel_check();
	torture_threads_check();
	torture_sync_check();
	return stress_end();
}
