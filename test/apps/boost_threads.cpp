/* SPDX-License-Identifier: MIT */
/*
 * Boost.Thread's interruption and exit, which Boost builds from conditions,
 * keys and cleanup of its own. Threads are interrupted in each kind of wait,
 * while interruption is off, and before they begin. Also the order of actions
 * at a thread's end, groups, futures, barriers, shared locks and upgrades.
 */
#define BOOST_THREAD_VERSION 4
#include <boost/thread.hpp>
#include <boost/thread/barrier.hpp>
#include <boost/thread/future.hpp>
#include <boost/thread/latch.hpp>
#include <boost/thread/shared_mutex.hpp>
#include <boost/thread/tss.hpp>

#include <atomic>
#include <iostream>
#include <string>
#include <vector>

namespace
{

boost::mutex mutex;
boost::condition_variable cond;

/* Interrupts a thread that waits in `wait`, and prints how that ended. */
template <typename Wait> void interrupted_in(const char *name, Wait wait)
{
	std::string how = "returned";
	boost::thread thread([&] {
		try {
			wait();
		} catch (const boost::thread_interrupted &) {
			how = "interrupted";
		}
	});

	boost::this_thread::sleep_for(boost::chrono::milliseconds(5));
	thread.interrupt();
	thread.join();
	std::cout << name << ": " << how << std::endl;
}

void waits()
{
	std::atomic<bool> is_over(false);
	boost::thread sleeper([&] {
		boost::this_thread::disable_interruption off;
		while (!is_over)
			boost::this_thread::sleep_for(
				boost::chrono::milliseconds(1));
	});

	interrupted_in("sleep", [] {
		boost::this_thread::sleep_for(boost::chrono::seconds(100));
	});
	interrupted_in("wait", [] {
		boost::unique_lock<boost::mutex> lock(mutex);
		for (;;)
			cond.wait(lock);
	});
	interrupted_in("timed wait", [] {
		boost::unique_lock<boost::mutex> lock(mutex);
		cond.wait_for(lock, boost::chrono::seconds(100));
	});
	interrupted_in("computing", [] {
		for (;;)
			boost::this_thread::interruption_point();
	});
	interrupted_in("off", [] {
		boost::this_thread::disable_interruption off;
		boost::this_thread::sleep_for(boost::chrono::milliseconds(20));
	});
	interrupted_in("restored", [] {
		boost::this_thread::disable_interruption off;
		while (!boost::this_thread::interruption_requested())
			boost::this_thread::yield();
		boost::this_thread::restore_interruption on(off);
		boost::this_thread::interruption_point();
	});
	interrupted_in("join", [&] { sleeper.join(); });
	is_over = true;
	if (sleeper.joinable())
		sleeper.join();
	std::cout << "mutex free: " << mutex.try_lock() << std::endl;
	mutex.unlock();
}

/* Interrupts a group of a hundred waiting threads at once. */
void groups()
{
	std::atomic<int> nr_interrupted(0), nr_joined(0);
	boost::thread_group group;

	for (int i = 0; i < 100; i++) {
		group.create_thread([&] {
			boost::unique_lock<boost::mutex> lock(mutex);
			try {
				for (;;)
					cond.wait(lock);
			} catch (const boost::thread_interrupted &) {
				nr_interrupted++;
				throw; /* ends this thread only */
			}
		});
	}
	group.interrupt_all();
	group.join_all();
	for (int i = 0; i < 200; i++) {
		boost::thread thread([&] { nr_joined++; });
		thread.interrupt(); /* the thread may not have begun */
		thread.join();
	}
	std::cout << "group: " << nr_interrupted << " " << nr_joined
		  << std::endl;
}

std::string order;
struct local {
	~local()
	{
		order += "local ";
	}
};
boost::thread_specific_ptr<local> specific;

/* Exit handlers and thread-specific data, which the last destructor reports. */
void ends()
{
	boost::condition_variable ended;
	bool is_told = false;
	boost::unique_lock<boost::mutex> lock(mutex);
	boost::thread thread([&] {
		specific.reset(new local);
		boost::this_thread::at_thread_exit([&] {
			boost::unique_lock<boost::mutex> own(mutex);

			is_told = true;
			ended.notify_all();
		});
		boost::this_thread::at_thread_exit([] { order += "handler "; });
	});

	while (!is_told)
		ended.wait(lock);
	lock.unlock();
	thread.join();
	std::cout << "end: " << order << std::endl;
}

void futures()
{
	std::vector<boost::future<int>> all;
	boost::shared_mutex shared;
	boost::barrier barrier(8);
	boost::latch latch(8);
	long sum = 0;

	for (int i = 0; i < 8; i++) {
		all.push_back(boost::async(boost::launch::async, [&, i] {
			for (int k = 0; k < 200; k++) {
				boost::upgrade_lock<boost::shared_mutex> may(
					shared);
				boost::upgrade_to_unique_lock<
					boost::shared_mutex>
					alone(may);
				sum += i;
			}
			barrier.wait();
			latch.count_down();
			boost::shared_lock<boost::shared_mutex> read(shared);
			return sum > 0 ? i : -1;
		}));
	}
	latch.wait();
	for (auto &future : all)
		std::cout << future.get() << " ";
	std::cout << "sum " << sum << std::endl;
	boost::future<int> broken = boost::async(
		boost::launch::async, []() -> int { throw 7; });
	try {
		broken.get();
	} catch (int what) {
		std::cout << "thrown " << what << std::endl;
	}
	boost::promise<int> promise;
	boost::future<int> then = promise.get_future().then(
		[](boost::future<int> f) { return f.get() + 1; });
	promise.set_value(41);
	std::cout << "then " << then.get() << std::endl;
}

}

int main()
{
	waits();
	groups();
	ends();
	futures();
	return 0;
}
