/* SPDX-License-Identifier: MIT */
/*
 * The kernel queues the threads that wait for a message or a semaphore, and
 * serves the first. So the caller first makes the call without waiting. If that
 * fails, it lets other threads run and tries again, and then a worker makes the
 * real call.
 *
 * Rejected: to wait for the descriptor of a message queue. Each message would
 * wake all waiting threads, and mq_notify would report messages for which a
 * thread waits.
 *
 * No handler restarts the calls of System V, also with SA_RESTART (signal(7)).
 */
#include "io/call/sysv.h"

#include <errno.h>
#include <stdbool.h>

#include "io/backend/call.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/yield.h"
#include "signal/memory.h"
#include "wait/ufutex.h"

static const struct timespec zero;

/* --- tries --------------------------------------------------------------- */

struct retries {
	uint32_t nr_handlers; /* when the call began */
	int nr_tries;
};

static struct retries retries_begin(void)
{
	return (struct retries){ wf_self->nr_handlers, 0 };
}

/*
 * Another runnable thread often provides the message or semaphore. A switch to
 * it takes a hundredth of the time that a worker takes. Returns 0 if another
 * thread has run: try again; -EAGAIN: a worker has to make the call; -EINTR: a
 * handler has run.
 *
 * If no thread can run, the kernel yields to a worker that has just been woken.
 * Without that, two threads that exchange messages through workers would do so
 * for ever.
 */
static int retries_next(struct retries *p)
{
	enum { MOST = 8 };

	if (p->nr_tries++ == MOST)
		return -EAGAIN;
	if (!wf_sched_let_others()) {
		wf_sys(SYS_sched_yield);
		if (!wf_sched_let_others())
			return -EAGAIN;
	}
	return wf_self->nr_handlers != p->nr_handlers ? -EINTR : 0;
}

/*
 * If a try found the object and a later call does not, it was removed
 * meanwhile. The kernel returns EIDRM to a thread that waits at that time.
 */
static long report_removal(const struct retries *p, long n)
{
	return n == -EINVAL && p->nr_tries > 0 ? -EIDRM : n;
}

/* --- semaphores ----------------------------------------------------------- */

/* The kernel's default limit. */
enum { MOST_OPS = 500 };

static bool is_any_to_wait(const struct sembuf *ops, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if ((ops[i].sem_flg & IPC_NOWAIT) == 0)
			return true;
	}
	return false;
}

/*
 * Tries with IPC_NOWAIT. A time-out of 0 would be slower: the kernel's timer
 * lets the caller sleep for its slack, 50 us. Not inlined, so that the copy is
 * not on the stack of a waiting thread.
 */
static WF_NOINLINE int try_semop(int id, const struct sembuf *ops, size_t nr)
{
	struct sembuf now[MOST_OPS];

	for (size_t i = 0; i < nr; i++) {
		now[i] = ops[i];
		now[i].sem_flg |= IPC_NOWAIT;
	}
	return (int)wf_sys(SYS_semop, id, now, nr);
}

int wf_io_semop(int id, struct sembuf *ops, size_t nr,
		const struct timespec *timeout)
{
	struct retries p = retries_begin();
	int64_t deadline_ns;
	int err = 0;
	long n;

	/* a bad argument: the kernel returns the error */
	if (nr > MOST_OPS || !wf_memory_is_readable(ops, nr * sizeof(*ops)) ||
	    wf_memory_get_deadline(timeout, &deadline_ns) < 0)
		return -ENOSYS;
	do
		n = try_semop(id, ops, nr);
	while (n == -EAGAIN && is_any_to_wait(ops, nr) &&
	       (err = retries_next(&p)) == 0);
	if (err == -EINTR)
		return err;
	if (n != -EAGAIN || !is_any_to_wait(ops, nr) ||
	    deadline_ns <= wf_os_now())
		return (int)report_removal(&p, n);
	n = wf_call_run(WF_CALL(SYS_semtimedop, id, (long)ops, (long)nr, 0),
			WF_CALL_ENDS_BY_SIGNAL, deadline_ns);
	return n == -ETIMEDOUT ? -EAGAIN : (int)report_removal(&p, n);
}

/* --- messages ------------------------------------------------------------- */

int wf_io_msgsnd(int id, const void *message, size_t bytes, int flags)
{
	struct retries p = retries_begin();
	int err = 0;
	long n;

	do
		n = wf_sys(SYS_msgsnd, id, message, bytes, flags | IPC_NOWAIT);
	while (n == -EAGAIN && (flags & IPC_NOWAIT) == 0 &&
	       (err = retries_next(&p)) == 0);
	if (err == -EINTR)
		return err;
	if (n == -EAGAIN && (flags & IPC_NOWAIT) == 0)
		n = wf_call_run(WF_CALL(SYS_msgsnd, id, (long)message,
					(long)bytes, flags),
				WF_CALL_ENDS_BY_SIGNAL, WF_FOREVER);
	return (int)report_removal(&p, n);
}

long wf_io_msgrcv(int id, void *message, size_t bytes, long type, int flags)
{
	struct retries p = retries_begin();
	int err = 0;
	long n;

	/* without IPC_NOWAIT the kernel refuses MSG_COPY */
	if ((flags & (IPC_NOWAIT | MSG_COPY)) != 0)
		return wf_sys(SYS_msgrcv, id, message, bytes, type, flags);
	do
		n = wf_sys(SYS_msgrcv, id, message, bytes, type,
			   flags | IPC_NOWAIT);
	while (n == -ENOMSG && (err = retries_next(&p)) == 0);
	if (err == -EINTR)
		return err;
	if (n == -ENOMSG)
		n = wf_call_run(WF_CALL(SYS_msgrcv, id, (long)message,
					(long)bytes, type, flags),
				WF_CALL_ENDS_BY_SIGNAL, WF_FOREVER);
	return report_removal(&p, n);
}

/*
 * The time for a try that does not wait. With a time in the past the kernel
 * returns ETIMEDOUT where it would wait, and EAGAIN for a non-blocking queue.
 * An invalid time or pointer goes to the kernel, which returns the error at
 * once.
 */
static const struct timespec *no_later(const struct timespec *until)
{
	struct timespec ts;

	if (until == NULL)
		return &zero;
	return wf_memory_get(&ts, until, sizeof(ts)) == 0 && ts.tv_sec >= 0 &&
			       ts.tv_nsec >= 0 && ts.tv_nsec < WF_NS_PER_S ?
		       &zero :
		       until;
}

int wf_io_mq_send(mqd_t queue, const char *message, size_t bytes,
		  unsigned int priority, const struct timespec *until)
{
	long n = wf_sys(SYS_mq_timedsend, queue, message, bytes, priority,
			no_later(until));

	if (n != -ETIMEDOUT)
		return (int)n;
	return (int)wf_call_wait(WF_CALL(SYS_mq_timedsend, queue, (long)message,
					 (long)bytes, priority, (long)until));
}

long wf_io_mq_receive(mqd_t queue, char *message, size_t bytes,
		      unsigned int *ret_priority, const struct timespec *until)
{
	long n = wf_sys(SYS_mq_timedreceive, queue, message, bytes,
			ret_priority, no_later(until));

	if (n != -ETIMEDOUT)
		return n;
	return wf_call_wait(WF_CALL(SYS_mq_timedreceive, queue, (long)message,
				    (long)bytes, (long)ret_priority,
				    (long)until));
}
