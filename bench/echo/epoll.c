/* SPDX-License-Identifier: MIT */
/*
 * The echo server as one loop over epoll: a lower bound for the servers with
 * threads.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../apps/listen.h"

enum { MOST_EVENTS = 256 };

static void watch(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		echo_die("epoll_ctl");
}

/*
 * The message is smaller than a socket's buffer, so one write sends all of it.
 */
static void serve(int fd)
{
	char bytes[ECHO_BYTES];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0)
		n = send(fd, bytes, (size_t)n, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		close(fd);
}

int main(void)
{
	struct epoll_event events[MOST_EVENTS];
	int fd = echo_listen();
	int epoll_fd = epoll_create1(0);

	watch(epoll_fd, fd);
	for (;;) {
		int nr = epoll_wait(epoll_fd, events, MOST_EVENTS, -1);

		if (nr < 0 && errno != EINTR)
			echo_die("epoll_wait");
		for (int i = 0; i < nr; i++) {
			if (events[i].data.fd == fd)
				watch(epoll_fd, echo_accept(fd));
			else
				serve(events[i].data.fd);
		}
	}
}
