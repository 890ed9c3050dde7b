/* SPDX-License-Identifier: MIT */
/*
 * A thread in functions with the names of C++: a template's, a method's and a
 * lambda's. Ends with its standard input.
 */
#include <semaphore.h>
#include <unistd.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace shop
{

static sem_t never, there;
static volatile long sink;

template <typename T> __attribute__((noinline)) long wait_for(const T &of)
{
	sem_post(&there);
	sem_wait(&never);
	return sink += static_cast<long>(of.size());
}

struct Till {
	__attribute__((noinline)) long sell(int price) const
	{
		long sold = wait_for(std::vector<int>(4, price));

		return sink += sold;
	}
};

} // namespace shop

int main()
{
	char c;

	sem_init(&shop::never, 0, 0);
	sem_init(&shop::there, 0, 0);
	std::thread seller([] { shop::sink += shop::Till().sell(3); });
	seller.detach();
	sem_wait(&shop::there);
	std::puts("ready");
	std::fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}
