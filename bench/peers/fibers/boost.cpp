/* SPDX-License-Identifier: MIT */
/*
 * Boost.Fiber: one kernel thread for each CPU allowed. With more than one, the
 * kernel threads steal fibers from each other. It has no semaphore; a counter,
 * a mutex and a condition variable take its place. Fibers are not preempted.
 */
#include <cerrno>
#include <sched.h>
#include <thread>

#include <boost/fiber/all.hpp>

#include "rows.h"

namespace fibers = boost::fibers;

enum { STACK_BYTES = 64 * 1024 };

static void *peer_start(void *(*run)(void *), void *arg)
{
	return new fibers::fiber(std::allocator_arg,
				 fibers::fixedsize_stack(STACK_BYTES),
				 [run, arg] { run(arg); });
}

static void peer_join(void *of)
{
	auto *fiber = static_cast<fibers::fiber *>(of);

	fiber->join();
	delete fiber;
}

static void peer_yield(void)
{
	boost::this_fiber::yield();
}

struct sem {
	explicit sem(int n) : count(n)
	{
	}

	int count;
	fibers::mutex mutex;
	fibers::condition_variable is_posted;
};

static void *peer_sem_new(int count)
{
	return new sem(count);
}

static void peer_sem_wait(void *of)
{
	auto *s = static_cast<sem *>(of);
	std::unique_lock<fibers::mutex> lock(s->mutex);

	while (s->count == 0)
		s->is_posted.wait(lock);
	s->count--;
}

static void peer_sem_post(void *of)
{
	auto *s = static_cast<sem *>(of);
	std::unique_lock<fibers::mutex> lock(s->mutex);

	s->count++;
	s->is_posted.notify_one();
}

static void *peer_mutex_new(void)
{
	return new fibers::mutex;
}

static void peer_mutex_lock(void *mutex)
{
	static_cast<fibers::mutex *>(mutex)->lock();
}

static void peer_mutex_unlock(void *mutex)
{
	static_cast<fibers::mutex *>(mutex)->unlock();
}

static void *peer_cond_new(void)
{
	return new fibers::condition_variable;
}

static void peer_cond_wait(void *cond, void *mutex)
{
	std::unique_lock<fibers::mutex> lock(
		*static_cast<fibers::mutex *>(mutex), std::adopt_lock);

	static_cast<fibers::condition_variable *>(cond)->wait(lock);
	lock.release();
}

static void peer_cond_signal(void *cond)
{
	static_cast<fibers::condition_variable *>(cond)->notify_one();
}

/* A kernel thread that runs fibers until the process ends. */
static void work(unsigned int nr_threads)
{
	fibers::mutex mutex;
	fibers::condition_variable never;
	std::unique_lock<fibers::mutex> lock(mutex);

	fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(
		nr_threads, true);
	for (;;)
		never.wait(lock);
}

int main(int argc, char **argv)
{
	unsigned int nr_threads;
	cpu_set_t allowed;
	int status;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	nr_threads = static_cast<unsigned int>(CPU_COUNT(&allowed));
	for (unsigned int i = 1; i < nr_threads; i++)
		std::thread(work, nr_threads).detach();
	/* Returns when all kernel threads have called it. */
	if (nr_threads > 1)
		fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(
			nr_threads, true);
	status = rows_main(argc, argv);
	fflush(stdout);
	/* Some fibers still wait; their destructors would wait, too. */
	_exit(status);
}
