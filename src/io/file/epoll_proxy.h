/* SPDX-License-Identifier: MIT */
/*
 * An epoll proxy is an epoll set that a ring polls in place of a socket. A
 * request for the set waits until the socket is ready and holds no reference to
 * the socket's file. With such a reference the kernel would close the file late
 * when the process ends (io/call/address.c).
 *
 *     struct wf_epoll_proxy *p = wf_epoll_proxy_get(fd, false);
 *
 *     if (p != NULL)
 *             ...                 a request for wf_epoll_proxy_set(p)
 *     wf_epoll_proxy_put(p);
 */
#ifndef WEFT_IO_FILE_EPOLL_PROXY_H
#define WEFT_IO_FILE_EPOLL_PROXY_H

#include <stdbool.h>

struct wf_epoll_proxy;

/*
 * Returns the epoll proxy of fd's file, which the caller has pinned
 * (io/file/pin.h); NULL: there is none now. is_in_doubt: the epoll proxy has
 * reported events, but the caller's calls found nothing. The events may be
 * those of an earlier file of the number, which was closed unseen. If the epoll
 * proxy then still reports an event, a new one replaces it. In the runtime.
 */
struct wf_epoll_proxy *wf_epoll_proxy_get(int fd, bool is_in_doubt);
/* The caller does not use p any more. NULL is ignored. In the runtime. */
void wf_epoll_proxy_put(struct wf_epoll_proxy *p);

/* The set's descriptor, valid until wf_epoll_proxy_put. */
int wf_epoll_proxy_set(const struct wf_epoll_proxy *p);

/*
 * Does another thread use p, too? The answer may miss a thread that begins just
 * now.
 */
bool wf_epoll_proxy_is_shared(const struct wf_epoll_proxy *p);

/*
 * If fd is ready, wakes one more of the threads that wait for p: the kernel
 * wakes only one for each event. fd is the number that the file of p has by now
 * (wf_pin_call_begin).
 */
void wf_epoll_proxy_wake_next(const struct wf_epoll_proxy *p, int fd);

/*
 * The closing thread calls the first before it closes or replaces the numbers,
 * and the second after that, always both. The caller has in_runtime 0.
 */
void wf_epoll_proxy_before_close(unsigned int first, unsigned int last);
void wf_epoll_proxy_after_close(unsigned int first, unsigned int last);

/*
 * Is a thread about to close or replace the number, or another number of its
 * bucket? If the caller has pinned the number (io/file/pin.h) and gets false, a
 * thread that closes it later finds the pin.
 */
bool wf_epoll_proxy_is_closing(int fd);

void wf_epoll_proxy_fork_child(void);

#endif
