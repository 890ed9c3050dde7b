/* SPDX-License-Identifier: MIT */
/*
 * Calls on descriptors that may wait. The thread does not hold its VP while it
 * waits.
 *
 *     if (wf_io_can_park())
 *             n = wf_io_read(fd, buf, bytes);
 *     else
 *             ...             libc's read
 *
 * The caller's in_runtime is 0. Each function returns the system call's result
 * or -Exxx. Only a cancellation point returns -ECANCELED. -ENOSYS: the thread
 * cannot park in this call, nothing has been done, and the caller makes the
 * plain call.
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

/* Can the calling thread park? If not, the caller uses libc's functions. */
bool wf_io_can_park(void);

/*
 * `bytes` must not be 0, and `iov` must be readable. -EOPNOTSUPP: the file
 * supports no call that returns instead of waiting. Nothing has been done.
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

/* The time limit is checked after each message; *timeout becomes the rest. */
int wf_io_recvmmsg(int fd, struct mmsghdr *messages, unsigned int nr, int flags,
		   struct timespec *timeout);
int wf_io_sendmmsg(int fd, struct mmsghdr *messages, unsigned int nr,
		   int flags);

int wf_io_accept(int fd, struct sockaddr *addr, socklen_t *addr_bytes,
		 int flags);
int wf_io_connect(int fd, const struct sockaddr *addr, socklen_t addr_bytes);

/*
 * Any handler ends these with -EINTR, as in the kernel. mask, if it is not
 * NULL, is the thread's signal mask while it waits.
 */
int wf_io_poll(struct pollfd *fds, nfds_t nr, int64_t deadline_ns,
	       const uint64_t *mask);
/*
 * The sets for reading, writing and exceptions are the program's; each may be
 * NULL. 0 <= nr <= FD_SETSIZE. Call wf_io_are_sets first: it returns true if
 * the sets can be read.
 */
bool wf_io_are_sets(int nr, fd_set *const sets[3]);
int wf_io_select(int nr, fd_set *const sets[3], int64_t deadline_ns,
		 const uint64_t *mask);
int wf_io_epoll_wait(int epfd, struct epoll_event *events, int max,
		     int64_t deadline_ns, const uint64_t *mask);

/* A thread that does not park takes this record before its call. */
struct wf_io_begun {
	int fd;
	uint32_t nr_handlers; /* the thread's (struct wf_thread) */
	uint32_t generation;  /* io/file/descriptor.h */
};

/*
 * Completes a send on a stream that has returned n. If a signal has cut the
 * send short, sends the rest and returns the bytes sent in all. It does so only
 * if no handler of the program's has run and the number still names the same
 * file. Otherwise returns n and leaves errno alone.
 */
long wf_io_go_on_sending(const struct wf_io_begun *b, const struct iovec *iov,
			 size_t nr, int flags, long n);
/* Completes in the same way a receive with MSG_WAITALL that has returned n. */
long wf_io_go_on_receiving(const struct wf_io_begun *b, void *buf, size_t bytes,
			   int flags, long n);

#endif
