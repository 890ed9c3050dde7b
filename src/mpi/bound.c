/* SPDX-License-Identifier: MIT */
/*
 * Makes calls that have no non-blocking form on kernel threads. The caller
 * parks, so that its VP runs other threads, and MPI's wait takes the CPU from
 * the kernel's scheduler. A kernel thread is a thread that weft has bound: it
 * changes state that the kernel keeps for each kernel thread. Without weft all
 * threads are.
 *
 * BOUND-1. There are as many threads as calls that are made at a time. A call
 *     that may wait for another rank never queues behind one that does.
 *
 * Rejected: binding the calling thread. It would stay bound after its call.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "mpi/mpi.h"

struct job {
	wf_mpi_fn fn;
	const wf_mpi_word *args;
	int rc;
	_Atomic uint32_t is_over;
	struct job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_changed = PTHREAD_COND_INITIALIZER;
/* By the lock. */
static struct job *jobs;
static unsigned int nr_jobs, nr_idle, nr_threads;
static bool is_ended;

/* Returns the next job, or NULL: the thread is to end. */
static struct job *take(void)
{
	struct job *job;

	nr_idle++;
	while (jobs == NULL && !is_ended)
		pthread_cond_wait(&has_changed, &lock);
	nr_idle--;
	job = jobs;
	if (job != NULL) {
		jobs = job->next;
		nr_jobs--;
	}
	return job;
}

static void *run(void *unused)
{
	struct job *job;

	(void)unused;
	/* The value does not change. weft binds a thread that sets it. */
	prctl(PR_SET_TIMERSLACK, (unsigned long)prctl(PR_GET_TIMERSLACK));
	pthread_mutex_lock(&lock);
	while ((job = take()) != NULL) {
		pthread_mutex_unlock(&lock);
		job->rc = wf_mpi_call(job->fn, job->args);
		wf_mpi_unpark(&job->is_over);
		pthread_mutex_lock(&lock);
	}
	nr_threads--;
	pthread_cond_broadcast(&has_changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static bool make(void)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, &attr, run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (err == 0)
		nr_threads++;
	return err == 0;
}

/* False: there is no thread for the job and none can be made. */
static bool push(struct job *job)
{
	bool has_thread;

	pthread_mutex_lock(&lock);
	has_thread = nr_idle > nr_jobs || make(); /* BOUND-1 */
	if (has_thread) {
		job->next = jobs;
		jobs = job;
		nr_jobs++;
		pthread_cond_signal(&has_changed);
	}
	pthread_mutex_unlock(&lock);
	return has_thread;
}

int wf_mpi_bound_call(wf_mpi_fn fn, const wf_mpi_word *args)
{
	struct job job = { .fn = fn, .args = args };

	if (!push(&job))
		return wf_mpi_call(fn, args);
	WF_MPI_COUNT(bound);
	wf_mpi_park(&job.is_over, 0);
	return job.rc;
}

void wf_mpi_bound_end(void)
{
	pthread_mutex_lock(&lock);
	is_ended = true;
	pthread_cond_broadcast(&has_changed);
	while (nr_threads > 0 && nr_idle > 0)
		pthread_cond_wait(&has_changed, &lock);
	pthread_mutex_unlock(&lock);
}
