/*
 * An epoll set in place of a socket: a request for the set waits for the
 * socket's readiness and does not keep its file, which the kernel closes late
 * when the process ends (io/address.c).
 *
 *     struct wf_proxy *p = wf_proxy_get(fd, false);
 *
 *     if (p != NULL)
 *             ... wf_proxy_set(p) ...
 *     wf_proxy_put(p);
 */
#ifndef WEFT_IO_PROXY_H
#define WEFT_IO_PROXY_H

#include <stdbool.h>

struct wf_proxy;

/*
 * The proxy of fd's file, on which the caller holds (io/hold.h); NULL: there is
 * none now. is_in_doubt: it has told of what was not so, which it might do of a
 * file that had the number before and was closed unseen. If it still tells of
 * something there is another from now on. In the runtime.
 */
struct wf_proxy *wf_proxy_get(int fd, bool is_in_doubt);
/* NULL is ignored. In the runtime. */
void wf_proxy_put(struct wf_proxy *p);

/* The set's number, until it is put. */
int wf_proxy_set(const struct wf_proxy *p);

/* Does anybody else wait for it, too? Who begins just then may be missed. */
bool wf_proxy_is_shared(const struct wf_proxy *p);

/*
 * Of those who wait one is woken: this wakes one more if fd, which is the
 * proxy's file by now (wf_hold_call_begin), has something.
 */
void wf_proxy_tell(const struct wf_proxy *p, int fd);

/*
 * The numbers are about to be closed or replaced; they have been. Always both.
 * in_runtime 0.
 */
void wf_proxy_close_comes(unsigned int first, unsigned int last);
void wf_proxy_close_done(unsigned int first, unsigned int last);

/*
 * Is somebody about to close or replace the number, or one of its bucket's? Who
 * holds it (io/hold.h) and is told no is seen by whoever does later.
 */
bool wf_proxy_is_closing(int fd);

void wf_proxy_fork_child(void);

#endif
