/* SPDX-License-Identifier: MIT */
/*
 * A wait for many descriptors fills an epoll set with all of them, and has one
 * request, for the set. All such waits are in a list. A closing thread visits
 * the list and leaves a duplicate to each wait for its number, so that the
 * wait's set keeps the file.
 *
 * MANY-1. From before its set is filled until its request is over a wait is in
 *     the list, and its thread is in the runtime. So the memory that the wait
 *     points to stays valid.
 * MANY-2. Before a number is closed or replaced each wait for it gets a
 *     duplicate. The duplicate keeps the file's entry in the set, and is closed
 *     when the wait is over. A wait does this once for each number: it does not
 *     wait for the number's next file. If a number is not open when the set is
 *     filled, the wait ends.
 * MANY-3. A thread may begin to wait between those duplicates and the close.
 *     After the close the closing thread ends that wait by an eventfd in its
 *     set, and the waiting thread makes its check again. The closing thread
 *     also ends a wait that has WF_MANY_PINNED duplicates already. If no number
 *     is free for a duplicate, the wait gets no more events of the file.
 * MANY-4. The set is a private descriptor. It is closed before a handler runs,
 *     since a handler may leave the call by a jump.
 */
#include "io/call/many.h"

#include <errno.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/spin.h"
#include "io/file/private_fd.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "wait/closed.h"

static struct wf_spin list_lock = WF_SPIN_INIT;
static struct wf_list waits = { &waits, &waits }; /* list_lock */
static _Atomic uint32_t nr_waits;

/* --- the descriptors of a wait -------------------------------------------- */

/*
 * Called for each descriptor of a wait. p is a copy, since the program may
 * unmap its list meanwhile.
 */
typedef int visit_fn(struct wf_many *m, const struct pollfd *p);

static int visit_list(struct wf_many *m, unsigned int first, unsigned int last,
		      visit_fn *visit)
{
	enum { AT_A_TIME = 64 };
	struct pollfd fds[AT_A_TIME];
	int err = 0;

	for (nfds_t i = 0; i < m->nr && err == 0; i += AT_A_TIME) {
		nfds_t nr = m->nr - i < AT_A_TIME ? m->nr - i : AT_A_TIME;

		err = wf_memory_get(fds, &m->fds[i], nr * sizeof(fds[0]));
		for (nfds_t k = 0; k < nr && err == 0; k++) {
			unsigned int fd = (unsigned int)fds[k].fd;

			if (fd >= first && fd <= last && fds[k].fd >= 0)
				err = visit(m, &fds[k]);
		}
	}
	return err;
}

static bool is_in(const fd_set *set, int fd)
{
	const fd_mask *words = (const fd_mask *)set;
	fd_mask word;

	return set != NULL &&
	       wf_memory_get(&word, &words[fd / NFDBITS], sizeof(word)) == 0 &&
	       ((unsigned long)word >> fd % NFDBITS & 1) != 0;
}

static int visit_sets(struct wf_many *m, unsigned int first, unsigned int last,
		      visit_fn *visit)
{
	int err = 0;

	for (unsigned int n = first;
	     n <= last && n < (unsigned int)m->nr_sets && err == 0; n++) {
		int fd = (int)n;
		int events = wf_many_selected(is_in(m->sets[0], fd),
					      is_in(m->sets[1], fd),
					      is_in(m->sets[2], fd));

		if (events != 0)
			err = visit(m,
				    &(struct pollfd){ fd, (short)events, 0 });
	}
	return err;
}

static int visit_all(struct wf_many *m, unsigned int first, unsigned int last,
		     visit_fn *visit)
{
	return m->fds != NULL ? visit_list(m, first, last, visit) :
				visit_sets(m, first, last, visit);
}

/*
 * Adds a descriptor to the set. If two entries of the list name one descriptor,
 * the set has it once, for the events of both.
 */
static int put_in(struct wf_many *m, const struct pollfd *p)
{
	struct epoll_event event = { .events = (uint16_t)p->events };
	long err = wf_sys(SYS_epoll_ctl, m->set, EPOLL_CTL_ADD, p->fd, &event);

	if (err == -EEXIST) {
		event.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP;
		err = wf_sys(SYS_epoll_ctl, m->set, EPOLL_CTL_MOD, p->fd,
			     &event);
	}
	/* A set takes no files on disks. They are always ready, as the call
	 * that does not wait has reported. */
	return err == -EPERM ? 0 : (int)err;
}

/* --- waiting -------------------------------------------------------------- */

static struct wf_many *wait_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wf_many, scope);
}

/* MANY-4. Does not block. */
static void close_set(struct wf_many *m)
{
	if (m->set >= 0)
		wf_private_fd_close(m->set);
	m->set = -1;
}

static void begin(struct wf_request_scope *scope)
{
	struct wf_many *m = wait_of(scope);

	wf_spin_lock(&list_lock, WF_RANK_MANY);
	wf_list_add_tail(&waits, &m->link);
	wf_spin_unlock(&list_lock);
	atomic_fetch_add(&nr_waits, 1);
	m->err = visit_all(m, 0, UINT_MAX, put_in); /* MANY-1 */
	if (m->err < 0)
		m->request.fd = -1; /* the request ends at once */
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	wf_spin_lock(&list_lock, WF_RANK_MANY);
	wf_list_del(&wait_of(scope)->link);
	wf_spin_unlock(&list_lock);
	atomic_fetch_sub(&nr_waits, 1);
	close_set(wait_of(scope));
}

int wf_many_begin(struct wf_many *m)
{
	m->set = wf_private_fd_make_set();
	if (m->set < 0) /* none is private: the program may see this */
		m->set = (int)wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC);
	m->ready_fd = -1;
	return m->set < 0 ? m->set : 0;
}

int wf_many_wait(struct wf_many *m, int64_t deadline_ns, uint32_t nr_handlers)
{
	int err;

	m->request = (struct wf_request){
		.op = IORING_OP_POLL_ADD,
		.fd = m->set,
		.op_flags = POLLIN,
		.scope = &m->scope,
	};
	m->scope = (struct wf_request_scope){ .begin = begin, .end = end };
	err = wf_request_run_any(&m->request, 1, deadline_ns, &nr_handlers);
	return m->err < 0 ? m->err : err;
}

void wf_many_end(struct wf_many *m)
{
	close_set(m);
	for (uint32_t i = 0; i < m->nr_pinned; i++) {
		if (m->pinned[i] >= 0)
			wf_private_fd_close(m->pinned[i]);
	}
	if (m->ready_fd >= 0)
		wf_private_fd_close(m->ready_fd);
}

/* --- closing -------------------------------------------------------------- */

/* MANY-2. Leaves the wait a duplicate, once for each number. */
static int pin_file(struct wf_many *m, const struct pollfd *p)
{
	for (uint32_t i = 0; i < m->nr_pinned; i++) {
		if (m->numbers[i] == p->fd)
			return 0;
	}
	if (m->nr_pinned == WF_MANY_PINNED)
		return 0; /* MANY-3 */
	m->numbers[m->nr_pinned] = p->fd;
	m->pinned[m->nr_pinned++] = wf_private_fd_duplicate(p->fd);
	return 0;
}

/*
 * MANY-3. Ends the wait, so that the thread makes the call that does not wait
 * again.
 */
static int report(struct wf_many *m, const struct pollfd *p)
{
	struct epoll_event event = { .events = EPOLLIN };
	long low;

	for (uint32_t i = 0; i < m->nr_pinned; i++) {
		if (m->numbers[i] == p->fd)
			return 0;
	}
	if (m->ready_fd >= 0)
		return 0;
	low = wf_sys(SYS_eventfd2, 1, EFD_CLOEXEC);
	if (low < 0)
		return 0;
	m->ready_fd = wf_private_fd_duplicate((int)low);
	wf_sys(SYS_close, low);
	if (m->ready_fd >= 0)
		wf_sys(SYS_epoll_ctl, m->set, EPOLL_CTL_ADD, m->ready_fd,
		       &event);
	return 0;
}

static void visit_waits(unsigned int first, unsigned int last, visit_fn *visit)
{
	struct wf_thread *me;
	uint64_t mask;

	/* seq_cst: the closing thread sees the wait here, or the waiting thread
	 * fills its set after the close. */
	if (atomic_load(&nr_waits) == 0)
		return;
	me = wf_runtime_enter();
	mask = wf_signals_close(me);
	wf_spin_lock(&list_lock, WF_RANK_MANY);
	for (struct wf_list *l = waits.next; l != &waits; l = l->next)
		visit_all(wf_container_of(l, struct wf_many, link), first, last,
			  visit);
	wf_spin_unlock(&list_lock);
	wf_signals_open(me, mask);
	wf_runtime_leave(me);
}

void wf_many_before_close(unsigned int first, unsigned int last)
{
	visit_waits(first, last, pin_file);
}

void wf_many_after_close(unsigned int first, unsigned int last)
{
	visit_waits(first, last, report);
}

void wf_many_fork_child(void)
{
	list_lock = WF_SPIN_INIT;
	wf_list_init(&waits);
	wf_store_relaxed(&nr_waits, 0);
}
