/* SPDX-License-Identifier: MIT */
/*
 * An epoll set in place of a socket: a request for the set waits for the
 * socket's readiness and does not keep its file, which the kernel closes late
 * when the process ends (io/address.c).
 *
 *     struct wf_epoll_proxy *p = wf_epoll_proxy_get(fd, false);
 *
 *     if (p != NULL)
 *             ... wf_epoll_proxy_set(p) ...
 *     wf_epoll_proxy_put(p);
 */
#ifndef WEFT_IO_EPOLL_PROXY_H
#define WEFT_IO_EPOLL_PROXY_H

#include <stdbool.h>

struct wf_epoll_proxy;

/*
 * The epoll proxy of fd's file, which the caller has pinned (io/pin.h); NULL:
 * there is none now. is_in_doubt: the last reports were wrong, which may be
 * those of a file that had the number before and was closed unseen. If the
 * proxy still reports something, there is another from now on. In the runtime.
 */
struct wf_epoll_proxy *wf_epoll_proxy_get(int fd, bool is_in_doubt);
/* NULL is ignored. In the runtime. */
void wf_epoll_proxy_put(struct wf_epoll_proxy *p);

/* The set's number, until it is put. */
int wf_epoll_proxy_set(const struct wf_epoll_proxy *p);

/* Does another thread wait for it, too? One that begins just then may be
 * missed. */
bool wf_epoll_proxy_is_shared(const struct wf_epoll_proxy *p);

/*
 * The kernel wakes one of the waiting threads: this wakes one more if fd, which
 * is the epoll proxy's file by now (wf_pin_call_begin), has something.
 */
void wf_epoll_proxy_wake_next(const struct wf_epoll_proxy *p, int fd);

/*
 * The numbers are about to be closed or replaced; they have been. Always both.
 * in_runtime 0.
 */
void wf_epoll_proxy_before_close(unsigned int first, unsigned int last);
void wf_epoll_proxy_after_close(unsigned int first, unsigned int last);

/*
 * Is a thread about to close or replace the number, or one of its bucket's? A
 * thread that has pinned it (io/pin.h) and gets false is seen by any thread
 * that closes it later.
 */
bool wf_epoll_proxy_is_closing(int fd);

void wf_epoll_proxy_fork_child(void);

#endif
