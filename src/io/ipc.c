/*
 * Whoever waits for a message or a semaphore is in a queue of the kernel's,
 * which hands over to the first; so after the call that does not wait a server
 * makes the real one. Waiting for the descriptor of a message queue instead
 * would wake all that wait for each message, and mq_notify would tell of a
 * message for which somebody waits.
 *
 * No handler's SA_RESTART starts the calls of System V again (signal(7)).
 */
#include "io/ipc.h"

#include <errno.h>
#include <stdbool.h>

#include "io/call.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/sleep.h"
#include "wait/ufutex.h"

static const struct timespec zero;

/* Operations of which the kernel has made a copy before. */
static bool is_any_to_wait(const struct sembuf *ops, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if ((ops[i].sem_flg & IPC_NOWAIT) == 0)
			return true;
	}
	return false;
}

int wf_io_semop(int id, struct sembuf *ops, size_t nr,
		const struct timespec *timeout)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int64_t deadline_ns;
	long n;

	if (wf_deadline_from_rel(timeout, &deadline_ns) < 0)
		return -EINVAL;
	n = wf_sys(SYS_semtimedop, id, ops, nr, &zero);
	/* Even so it looks for signals, weft's own among them. */
	if (n == -EINTR && wf_self->nr_handlers == nr_handlers)
		n = -EAGAIN;
	if (n != -EAGAIN || !is_any_to_wait(ops, nr))
		return (int)n;
	n = wf_call_run(WF_CALL(SYS_semtimedop, id, (long)ops, (long)nr, 0),
			WF_CALL_ENDS_BY_SIGNAL, deadline_ns);
	return n == -ETIMEDOUT ? -EAGAIN : (int)n;
}

int wf_io_msgsnd(int id, const void *message, size_t bytes, int flags)
{
	long n = wf_sys(SYS_msgsnd, id, message, bytes, flags | IPC_NOWAIT);

	if (n != -EAGAIN || (flags & IPC_NOWAIT) != 0)
		return (int)n;
	return (int)wf_call_run(WF_CALL(SYS_msgsnd, id, (long)message,
					(long)bytes, flags),
				WF_CALL_ENDS_BY_SIGNAL, WF_FOREVER);
}

long wf_io_msgrcv(int id, void *message, size_t bytes, long type, int flags)
{
	long n;

	/* MSG_COPY is refused unless IPC_NOWAIT is there, too. */
	if ((flags & (IPC_NOWAIT | MSG_COPY)) != 0)
		return wf_sys(SYS_msgrcv, id, message, bytes, type, flags);
	n = wf_sys(SYS_msgrcv, id, message, bytes, type, flags | IPC_NOWAIT);
	if (n != -ENOMSG)
		return n;
	return wf_call_run(WF_CALL(SYS_msgrcv, id, (long)message, (long)bytes,
				   type, flags),
			   WF_CALL_ENDS_BY_SIGNAL, WF_FOREVER);
}

/*
 * With a time that has passed the kernel says ETIMEDOUT where it would wait,
 * EAGAIN if the queue is not to be waited for. A time that is none it is to
 * see at once.
 */
static const struct timespec *no_later(const struct timespec *until)
{
	return until == NULL || (until->tv_sec >= 0 && until->tv_nsec >= 0 &&
				 until->tv_nsec < WF_NS_PER_S) ?
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
