/* SPDX-License-Identifier: MIT */
// Every thread feature of the C++ standard library at once, in 200 threads. The
// program prints counts that do not depend on the threads' order.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr int nr_rounds = 40;
std::atomic<long> nr_made, nr_destroyed, nr_caught, nr_once, nr_bad;

struct Tracked {
	std::string text = "t";

	Tracked()
	{
		nr_made++;
	}
	~Tracked()
	{
		expect(!text.empty());
		nr_destroyed++;
	}
	static void expect(bool holds)
	{
		if (!holds)
			nr_bad++;
	}
};

void expect(bool holds)
{
	Tracked::expect(holds);
}

thread_local Tracked tracked;
thread_local long plain_count;

std::once_flag once_flags[nr_rounds];
std::mutex mutex;
std::condition_variable changed;
std::shared_mutex shared;
std::recursive_mutex recursive;
std::timed_mutex timed;
long nr_shared_writes, nr_recursive, nr_timed;

size_t throw_from(int depth, int who)
{
	std::string local(50, static_cast<char>('a' + who % 26));

	if (depth == 0)
		throw std::runtime_error("e" + std::to_string(who));
	return throw_from(depth - 1, who) + local.size();
}

void use_exceptions(int me, int round)
{
	try {
		throw_from(5 + round % 10, me);
	} catch (const std::exception &outer) {
		std::this_thread::yield();
		expect(outer.what() == "e" + std::to_string(me));
		nr_caught++;
		try {
			throw;
		} catch (const std::runtime_error &inner) {
			expect(&inner == &outer);
		}
	}
}

void use_locks(int round)
{
	{
		std::lock_guard<std::recursive_mutex> once(recursive);
		std::lock_guard<std::recursive_mutex> twice(recursive);

		nr_recursive++;
	}
	if (round % 5 == 0) {
		std::unique_lock<std::shared_mutex> writing(shared);

		nr_shared_writes++;
	} else {
		std::shared_lock<std::shared_mutex> reading(shared);

		expect(nr_shared_writes >= 0);
	}
	while (!timed.try_lock_for(std::chrono::milliseconds(5)))
		continue;
	nr_timed++;
	timed.unlock();
}

void use_waits(int me, int round)
{
	std::unique_lock<std::mutex> lock(mutex);

	errno = me;
	changed.wait_for(lock, std::chrono::microseconds(round * 10));
	lock.unlock();
	errno = me;
	std::this_thread::yield();
	expect(errno == me);
	if (round % 10 == 0)
		std::this_thread::sleep_for(std::chrono::microseconds(100));
}

void use_futures(int me)
{
	auto future = std::async(std::launch::async, [me] {
		if (me % 2)
			throw std::logic_error("odd");
		return me;
	});

	try {
		expect(future.get() == me);
		expect(me % 2 == 0);
	} catch (const std::logic_error &) {
		expect(me % 2 == 1);
	}
}

void work(int me)
{
	tracked.text += std::to_string(me);
	for (int round = 0; round < nr_rounds; round++) {
		plain_count++;
		use_exceptions(me, round);
		std::call_once(once_flags[round], [] {
			nr_once++;
			std::this_thread::sleep_for(
				std::chrono::microseconds(100));
		});
		use_locks(round);
		use_waits(me, round);
		if (round % 10 == 0)
			use_futures(me);
	}
	expect(plain_count == nr_rounds);
	expect(tracked.text == "t" + std::to_string(me));
}

void run_round(int nr_threads)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < nr_threads; i++)
		threads.emplace_back(work, i);
	for (int i = 0; i < 50; i++) {
		changed.notify_all();
		std::this_thread::sleep_for(std::chrono::microseconds(200));
	}
	for (auto &thread : threads)
		thread.join();
}

// An exception passes from one thread to another.
void pass_exception()
{
	std::promise<int> promise;
	auto future = promise.get_future();
	std::thread thrower([&promise] {
		try {
			throw 42;
		} catch (int) {
			promise.set_exception(std::current_exception());
		}
	});

	try {
		future.get();
		expect(false);
	} catch (int value) {
		expect(value == 42);
	}
	thrower.join();
}

} // namespace

int main(int argc, char **argv)
{
	int nr_threads = argc > 1 ? std::atoi(argv[1]) : 200;
	long total = 2L * nr_threads;

	for (int i = 0; i < 2; i++)
		run_round(nr_threads);
	pass_exception();
	std::printf("made %ld destroyed %ld caught %ld once %ld\n",
		    nr_made.load(), nr_destroyed.load(), nr_caught.load(),
		    nr_once.load());
	std::printf("recursive %ld shared %ld timed %ld bad %ld\n",
		    nr_recursive, nr_shared_writes, nr_timed, nr_bad.load());
	expect(nr_made == total && nr_destroyed == total);
	expect(nr_caught == total * nr_rounds && nr_once == nr_rounds);
	expect(nr_recursive == total * nr_rounds);
	return nr_bad == 0 ? 0 : 1;
}
