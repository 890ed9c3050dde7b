/*
 * M1. While its request is under way a wait is in the list, and its thread in
 *     the runtime: so what it points to stays.
 * M2. Before a number is closed or replaced each wait that has it in its set
 *     gets a duplicate, which keeps the set's entry, and is closed when the
 *     wait is over. A number counts once: what it is later is not waited for.
 * M3. Who begins to wait just when the number goes does not hear of its file;
 *     nor does who has lost WF_MANY_KEPT of them already, or where there is no
 *     number free.
 * M4. The set is weft's own descriptor, and is closed before a handler runs,
 *     which may leave the call by a jump.
 */
#include "io/many.h"

#include <linux/io_uring.h>
#include <sys/epoll.h>

#include "base/spin.h"
#include "io/kept.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "wait/closed.h"

static struct wf_spin list_lock = WF_SPIN_INIT;
static struct wf_list waits = { &waits, &waits }; /* list_lock */
static _Atomic uint32_t nr_waits;

/* --- waiting -------------------------------------------------------------- */

static struct wf_many *wait_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wf_many, scope);
}

/* M4; never waits. */
static void close_set(struct wf_many *m)
{
	if (m->set >= 0)
		wf_kept_close(m->set);
	m->set = -1;
}

static void begin(struct wf_request_scope *scope)
{
	wf_spin_lock(&list_lock);
	wf_list_add_tail(&waits, &wait_of(scope)->link);
	wf_spin_unlock(&list_lock);
	atomic_fetch_add(&nr_waits, 1);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	wf_spin_lock(&list_lock);
	wf_list_del(&wait_of(scope)->link);
	wf_spin_unlock(&list_lock);
	atomic_fetch_sub(&nr_waits, 1);
	close_set(wait_of(scope));
}

int wf_many_begin(struct wf_many *m)
{
	m->set = wf_kept_make_set();
	if (m->set < 0) /* no room: the program may find it */
		m->set = (int)wf_sys(SYS_epoll_create1, EPOLL_CLOEXEC);
	return m->set < 0 ? m->set : 0;
}

int wf_many_wait(struct wf_many *m, int64_t deadline_ns, uint32_t nr_handlers)
{
	struct wf_request r = {
		.op = IORING_OP_POLL_ADD,
		.fd = m->set,
		.op_flags = POLLIN,
		.scope = &m->scope,
	};

	m->scope = (struct wf_request_scope){ begin, end };
	return wf_request_run_any(&r, 1, deadline_ns, &nr_handlers);
}

void wf_many_end(struct wf_many *m)
{
	close_set(m);
	for (uint32_t i = 0; i < m->nr_kept; i++) {
		if (m->kept[i] >= 0)
			wf_kept_close(m->kept[i]);
	}
}

/* --- closing -------------------------------------------------------------- */

/* M2 */
static void keep(struct wf_many *m, int fd)
{
	for (uint32_t i = 0; i < m->nr_kept; i++) {
		if (m->numbers[i] == fd)
			return;
	}
	if (m->nr_kept == WF_MANY_KEPT)
		return; /* M3 */
	m->numbers[m->nr_kept] = fd;
	m->kept[m->nr_kept++] = wf_kept_make(fd);
}

static void keep_of_list(struct wf_many *m, unsigned int first,
			 unsigned int last)
{
	enum { AT_A_TIME = 64 };
	struct pollfd fds[AT_A_TIME];

	for (nfds_t i = 0; i < m->nr; i += AT_A_TIME) {
		nfds_t nr = m->nr - i < AT_A_TIME ? m->nr - i : AT_A_TIME;

		if (wf_memory_get(fds, &m->fds[i], nr * sizeof(fds[0])) < 0)
			return;
		for (nfds_t k = 0; k < nr; k++) {
			unsigned int fd = (unsigned int)fds[k].fd;

			if (fd >= first && fd <= last && fds[k].fd >= 0)
				keep(m, fds[k].fd);
		}
	}
}

/* The program's own set, which it may have taken away. */
static bool is_in(const fd_set *set, int fd)
{
	const fd_mask *words = (const fd_mask *)set;
	fd_mask word;

	return set != NULL &&
	       wf_memory_get(&word, &words[fd / NFDBITS], sizeof(word)) == 0 &&
	       ((unsigned long)word >> fd % NFDBITS & 1) != 0;
}

static void keep_of_sets(struct wf_many *m, unsigned int first,
			 unsigned int last)
{
	for (unsigned int fd = first;
	     fd <= last && fd < (unsigned int)m->nr_sets; fd++) {
		if (is_in(m->sets[0], (int)fd) || is_in(m->sets[1], (int)fd) ||
		    is_in(m->sets[2], (int)fd))
			keep(m, (int)fd);
	}
}

void wf_many_keep(unsigned int first, unsigned int last)
{
	struct wf_thread *me;
	uint64_t mask;

	if (atomic_load(&nr_waits) == 0)
		return;
	me = wf_runtime_enter();
	mask = wf_signals_close(me);
	wf_spin_lock(&list_lock);
	for (struct wf_list *l = waits.next; l != &waits; l = l->next) {
		struct wf_many *m = wf_container_of(l, struct wf_many, link);

		if (m->fds != NULL)
			keep_of_list(m, first, last);
		else
			keep_of_sets(m, first, last);
	}
	wf_spin_unlock(&list_lock);
	wf_signals_open(me, mask);
	wf_runtime_leave(me);
}

void wf_many_fork_child(void)
{
	list_lock = WF_SPIN_INIT;
	wf_list_init(&waits);
	wf_store_relaxed(&nr_waits, 0);
}
