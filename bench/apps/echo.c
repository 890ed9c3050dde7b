/* SPDX-License-Identifier: MIT */
/*
 * An echo server with a thread for each connection. The thread reads and
 * writes.
 *
 * echo STACK_KIB
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "listen.h"

static void write_all(int fd, const char *bytes, size_t nr)
{
	while (nr > 0) {
		ssize_t n = write(fd, bytes, nr);

		if (n < 0 && errno != ECONNRESET && errno != EPIPE)
			echo_die("write");
		if (n < 0)
			return; /* the next read returns the error, too */
		bytes += n;
		nr -= (size_t)n;
	}
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char bytes[ECHO_BYTES];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		write_all(fd, bytes, (size_t)n);
	if (n < 0 && errno != ECONNRESET)
		echo_die("read");
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: echo STACK_KIB\n");
		return 2;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_attr_setstacksize(&attr, strtoul(argv[1], NULL, 10) << 10))
		echo_die("stack size");
	fd = echo_listen();
	for (;;) {
		void *arg = (void *)(intptr_t)echo_accept(fd);
		pthread_t thread;

		errno = pthread_create(&thread, &attr, serve, arg);
		if (errno != 0)
			echo_die("pthread_create");
	}
}
