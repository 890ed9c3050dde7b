/* SPDX-License-Identifier: MIT */
// C++ state that belongs to a thread: thread_local objects and their
// destructors, exceptions in flight, initialisation of statics.
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include "check.h"

namespace
{

constexpr int nr_threads = 60;
std::atomic<int> nr_made, nr_destroyed, nr_calls;

struct Tracked {
	std::string text = "made";

	Tracked()
	{
		nr_made++;
	}
	~Tracked()
	{
		CHECK(text.compare(0, 4, "made") == 0);
		nr_destroyed++;
	}
};

thread_local Tracked tracked;
thread_local long plain = 3;

template <typename Body> void on_threads(int nr, Body body)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < nr; i++)
		threads.emplace_back(body, i);
	for (auto &thread : threads)
		thread.join();
}

void throw_deeply(int depth, int value)
{
	std::string local(64, 'x');

	if (depth == 0)
		throw std::runtime_error(std::to_string(value));
	throw_deeply(depth - 1, value);
	CHECK(local.size() == 64);
}

} // namespace

TEST(thread_local_objects)
{
	on_threads(nr_threads, [](int me) {
		CHECK(tracked.text == "made");
		tracked.text += std::to_string(me);
		for (int i = 0; i < 20; i++) {
			plain += me;
			std::this_thread::yield();
		}
		CHECK_EQ(plain, 3 + 20L * me);
		CHECK(tracked.text == "made" + std::to_string(me));
	});
	CHECK_EQ(nr_made, nr_threads);
	CHECK_EQ(nr_destroyed, nr_threads);
}

TEST(destructors_before_join_returns)
{
	for (int i = 0; i < 200; i++) {
		std::thread([] { tracked.text += "!"; }).join();
		CHECK_EQ(nr_destroyed, i + 1);
	}
}

TEST(destructors_at_pthread_exit)
{
	auto leave = [](void *) -> void * {
		tracked.text += "!";
		pthread_exit(&nr_made);
	};
	pthread_t thread;
	void *result;

	CHECK_EQ(pthread_create(&thread, nullptr, leave, nullptr), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == &nr_made);
	CHECK_EQ(nr_destroyed, 1);
}

// pthread_exit unwinds the stack: objects on it are destroyed.
TEST(pthread_exit_unwinds)
{
	auto leave = [](void *) -> void * {
		Tracked on_stack;
		std::string kept(100, 'y');

		pthread_exit(nullptr);
	};

	for (int i = 1; i <= 50; i++) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, nullptr, leave, nullptr), 0);
		CHECK_EQ(pthread_join(thread, nullptr), 0);
		CHECK_EQ(nr_destroyed, i);
	}
}

TEST(catch_across_yields)
{
	on_threads(nr_threads, [](int me) {
		for (int i = 0; i < 30; i++) {
			try {
				throw_deeply(5 + i % 10, me * 100 + i);
			} catch (const std::exception &e) {
				std::this_thread::yield();
				if (i % 10 == 0)
					usleep(50);
				CHECK_EQ(std::stoi(e.what()), me * 100 + i);
				nr_calls++;
			}
		}
	});
	CHECK_EQ(nr_calls, nr_threads * 30);
}

TEST(rethrow_while_others_throw)
{
	on_threads(nr_threads, [](int me) {
		for (int i = 0; i < 20; i++) {
			try {
				try {
					throw_deeply(3, me);
				} catch (const std::exception &) {
					std::this_thread::yield();
					throw;
				}
			} catch (const std::runtime_error &e) {
				CHECK_EQ(std::stoi(e.what()), me);
			}
			CHECK(std::current_exception() == nullptr);
			CHECK_EQ(std::uncaught_exceptions(), 0);
		}
	});
}

TEST(nested_handlers)
{
	on_threads(nr_threads, [](int me) {
		std::exception_ptr outer;

		try {
			throw_deeply(2, me);
		} catch (...) {
			outer = std::current_exception();
			try {
				throw_deeply(4, me + 1000);
			} catch (const std::exception &e) {
				std::this_thread::yield();
				CHECK_EQ(std::stoi(e.what()), me + 1000);
			}
			usleep(20);
			CHECK(std::current_exception() == outer);
		}
		try {
			std::rethrow_exception(outer);
		} catch (const std::exception &e) {
			CHECK_EQ(std::stoi(e.what()), me);
		}
	});
}

// A destructor that runs while an exception unwinds may block.
TEST(blocking_while_unwinding)
{
	static std::mutex mutex;
	struct Locker {
		~Locker()
		{
			std::lock_guard<std::mutex> guard(mutex);

			CHECK_EQ(std::uncaught_exceptions(), 1);
			std::this_thread::yield();
			nr_destroyed++;
		}
	};

	on_threads(nr_threads, [](int me) {
		try {
			Locker locker;

			throw me;
		} catch (int caught) {
			CHECK_EQ(caught, me);
		}
	});
	CHECK_EQ(nr_destroyed, nr_threads);
}

TEST(call_once_with_exceptions)
{
	static std::once_flag flag;
	static std::atomic<int> nr_failed;

	on_threads(nr_threads, [](int) {
		try {
			std::call_once(flag, [] {
				usleep(100);
				if (++nr_calls < 10)
					throw std::runtime_error("not yet");
			});
		} catch (const std::runtime_error &) {
			nr_failed++;
		}
	});
	CHECK_EQ(nr_calls, 10);
	CHECK_EQ(nr_failed, 9);
}

TEST(static_initialisation)
{
	on_threads(nr_threads, [](int) {
		static const int value = [] {
			usleep(1000);
			nr_calls++;
			return 42;
		}();

		CHECK_EQ(value, 42);
	});
	CHECK_EQ(nr_calls, 1);
}

// If a static's initialiser throws, the next thread tries again.
TEST(static_initialisation_fails)
{
	static std::atomic<int> nr_failed;

	on_threads(nr_threads, [](int) {
		try {
			static const int value = [] {
				std::this_thread::yield();
				if (++nr_calls < 5)
					throw 1;
				return 42;
			}();

			CHECK_EQ(value, 42);
		} catch (int) {
			nr_failed++;
		}
	});
	CHECK_EQ(nr_calls, 5);
	CHECK_EQ(nr_failed, 4);
}

TEST(futures)
{
	std::vector<std::future<int>> futures;

	for (int i = 0; i < 50; i++)
		futures.push_back(std::async(std::launch::async, [i] {
			usleep(100);
			if (i % 5 == 0)
				throw std::out_of_range(std::to_string(i));
			return i * i;
		}));
	for (int i = 0; i < 50; i++) {
		try {
			CHECK_EQ(futures[i].get(), i * i);
			CHECK(i % 5 != 0);
		} catch (const std::out_of_range &e) {
			CHECK_EQ(std::stoi(e.what()), i);
		}
	}
}

TEST(wait_for_times_out)
{
	using namespace std::chrono_literals;
	std::mutex mutex;
	std::condition_variable changed;
	std::unique_lock<std::mutex> lock(mutex);
	auto start = std::chrono::steady_clock::now();

	CHECK(changed.wait_for(lock, 20ms) == std::cv_status::timeout);
	CHECK(std::chrono::steady_clock::now() - start >= 20ms);
	std::promise<int> never;

	CHECK(never.get_future().wait_for(20ms) == std::future_status::timeout);
}
