/* SPDX-License-Identifier: MIT */
/*
 * Calls on descriptors that may wait: they wait without holding a VP. Each is
 * called with in_runtime 0 and returns what the system call returns, or -Exxx;
 * -ECANCELED at a cancellation point only, -ENOSYS if it cannot wait so and
 * nothing has been done.
 */
#ifndef WEFT_IO_IO_H
#define WEFT_IO_IO_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Can the calling thread wait so? Else libc's own functions are to be used. */
bool wf_io_can_park(void);

/*
 * bytes is not 0, iov can be read. -EOPNOTSUPP: the descriptor's file cannot be
 * asked without waiting, and nothing has been done.
 */
long wf_io_read(int fd, void *buf, size_t bytes);
long wf_io_write(int fd, const void *buf, size_t bytes);
long wf_io_readv(int fd, const struct iovec *iov, int nr);
long wf_io_writev(int fd, const struct iovec *iov, int nr);

long wf_io_recvmsg(int fd, struct msghdr *msg, int flags);
long wf_io_recvfrom(int fd, void *buf, size_t bytes, int flags,
		    struct sockaddr *addr, socklen_t *addr_bytes);
long wf_io_sendmsg(int fd, const struct msghdr *msg, int flags);
long wf_io_sendto(int fd, const void *buf, size_t bytes, int flags,
		  const struct sockaddr *addr, socklen_t addr_bytes);

/* timeout: as in the kernel, looked at after each message; then what is left */
int wf_io_recvmmsg(int fd, struct mmsghdr *messages, unsigned int nr, int flags,
		   struct timespec *timeout);
int wf_io_sendmmsg(int fd, struct mmsghdr *messages, unsigned int nr,
		   int flags);

int wf_io_accept(int fd, struct sockaddr *addr, socklen_t *addr_bytes,
		 int flags);
int wf_io_connect(int fd, const struct sockaddr *addr, socklen_t addr_bytes);

/*
 * Any handler ends them with -EINTR, as in the kernel. The mask, if there is
 * one, is the thread's while it waits.
 */
int wf_io_poll(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
	       const uint64_t *mask);
/*
 * Read, write and exception sets, each may be NULL; 0 <= nr <= FD_SETSIZE. The
 * program's, of which wf_io_are_sets has said that they can be read.
 */
bool wf_io_are_sets(int nr, fd_set *const sets[3]);
int wf_io_select(int nr, fd_set *const sets[3], int64_t deadline_ns,
		 const uint64_t *mask);
int wf_io_epoll_wait(int epfd, struct epoll_event *events, int max,
		     int64_t deadline_ns, const uint64_t *mask);

/* A call of a thread that does not park, before it is made. */
struct wf_io_begun {
	int fd;
	uint32_t nr_handlers; /* struct wf_thread */
	uint32_t generation;  /* io/descriptor.h */
};

/*
 * n is what the call, on a stream, has returned. What a signal has cut short,
 * without a handler of the program's since, goes on, if the number is still the
 * file's; else n, and errno is the call's.
 */
long wf_io_go_on_sending(const struct wf_io_begun *b, const struct iovec *iov,
			 size_t nr, int flags, long n);
/* The same with MSG_WAITALL. */
long wf_io_go_on_receiving(const struct wf_io_begun *b, void *buf, size_t bytes,
			   int flags, long n);

#endif
