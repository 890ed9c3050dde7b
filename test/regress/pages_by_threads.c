/* SPDX-License-Identifier: MIT */
/*
 * A large write from memory, and a receive of all bytes into memory. Another
 * thread of the program brings in the pages of that memory, so the call must
 * not keep that thread from running.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rest.h"

enum { PAGE = 4096, BYTES = 40 * PAGE };

static int faults, ends[2];

static void *bring_pages(void *arg)
{
	static char page[PAGE];
	struct uffd_msg m;

	while (read(faults, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_copy copy = {
			.dst = m.arg.pagefault.address & ~(uint64_t)(PAGE - 1),
			.src = (uintptr_t)page,
			.len = PAGE,
		};

		ioctl(faults, UFFDIO_COPY, &copy);
	}
	return arg;
}

static char *memory_of_others(void)
{
	char *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {
		.range = { (uintptr_t)at, BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (ioctl(faults, UFFDIO_REGISTER, &range) < 0)
		exit(1);
	return at;
}

static void *read_all(void *arg)
{
	static char data[BYTES];
	ssize_t n, all = 0;

	while ((n = read(ends[0], data, sizeof(data))) > 0)
		all += n;
	printf("%zd bytes came out\n", all);
	return arg;
}

static void *send_all(void *arg)
{
	static const char data[BYTES];

	for (int i = 0; i < 2; i++) {
		await_rest(); /* the other thread receives */
		if (write(ends[1], data, BYTES / 2) != BYTES / 2)
			exit(1);
	}
	return arg;
}

int main(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t bringer, other;
	char *at;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) < 0) {
		printf("no userfaultfd: %s\n", strerror(errno));
		return 77;
	}
	pthread_create(&bringer, NULL, bring_pages, NULL);
	if (pipe(ends) < 0)
		return 1;
	at = memory_of_others();
	pthread_create(&other, NULL, read_all, NULL);
	printf("wrote %zd\n", write(ends[1], at, BYTES));
	close(ends[1]);
	pthread_join(other, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return 1;
	at = memory_of_others();
	pthread_create(&other, NULL, send_all, NULL);
	printf("received %zd\n", recv(ends[0], at, BYTES, MSG_WAITALL));
	pthread_join(other, NULL);
	return 0;
}
