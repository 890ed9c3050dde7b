/* SPDX-License-Identifier: MIT */
/*
 * Message queues of POSIX, and semaphores and messages of System V. A thread
 * that can park waits by io/call/sysv.h: an I/O worker makes the system call.
 */
#include <errno.h>
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include "api/sysv.h"
#include "api/park.h"
#include "boot/boot.h"
#include "boot/wind_down.h"
#include "io/call/sysv.h"
#include "libc/real.h"
#include "monitor/private_table.h"
#include "os/sys.h"
#include "sched/yield.h"
#include "signal/sigwait.h"

/* --- message queues ------------------------------------------------------- */

/* The process has asked for a signal by mq_notify. */
static _Atomic bool asks_for_signal;

/*
 * until NULL: no deadline. A function of its own: libc's headers declare that
 * argument of mq_timedsend as never NULL.
 */
static int send_until(mqd_t queue, const char *message, size_t bytes,
		      unsigned int priority, const struct timespec *until)
{
	int rc = (int)WF_PARK_OR(
		wf_real.mq_timedsend(queue, message, bytes, priority, until),
		wf_io_mq_send(queue, message, bytes, priority, until));

	/* The kernel may have signalled this process for the message. */
	if (wf_load_relaxed(&asks_for_signal))
		wf_signal_take_preceding();
	return rc;
}

static ssize_t receive_until(mqd_t queue, char *message, size_t bytes,
			     unsigned int *ret_priority,
			     const struct timespec *until)
{
	return WF_PARK_OR(wf_real.mq_timedreceive(queue, message, bytes,
						  ret_priority, until),
			  wf_io_mq_receive(queue, message, bytes, ret_priority,
					   until));
}

WF_API(int, mq_timedsend, mqd_t queue, const char *message, size_t bytes,
       unsigned int priority, const struct timespec *until)
{
	return send_until(queue, message, bytes, priority, until);
}

WF_API(int, mq_send, mqd_t queue, const char *message, size_t bytes,
       unsigned int priority)
{
	return send_until(queue, message, bytes, priority, NULL);
}

WF_API(ssize_t, mq_timedreceive, mqd_t queue, char *restrict message,
       size_t bytes, unsigned int *restrict ret_priority,
       const struct timespec *restrict until)
{
	return receive_until(queue, message, bytes, ret_priority, until);
}

WF_API(ssize_t, mq_receive, mqd_t queue, char *message, size_t bytes,
       unsigned int *ret_priority)
{
	return receive_until(queue, message, bytes, ret_priority, NULL);
}

/*
 * Starts the runtime first, and waits for the monitor. At its start the monitor
 * closes copies of all descriptors, and that cancels a registration.
 */
WF_API(int, mq_notify, mqd_t queue, const struct sigevent *event)
{
	if (event != NULL && (wf_is_started() || wf_boot_start() == 0)) {
		while (!wf_private_table_is_ready())
			wf_sched_yield();
	}
	if (event != NULL)
		wf_wind_down_never();
	if (event != NULL && event->sigev_notify == SIGEV_SIGNAL)
		wf_store_relaxed(&asks_for_signal, true);
	return wf_real.mq_notify(queue, event);
}

/* --- System V ------------------------------------------------------------- */

static int semop_natively(int id, struct sembuf *ops, size_t nr,
			  const struct timespec *timeout)
{
	uint32_t nr_handlers = wf_natively_handlers();
	struct timespec left;
	int64_t deadline_ns = 0;
	int n;

	wf_memory_get_deadline(timeout, &deadline_ns);
	n = wf_real.semtimedop(id, ops, nr, timeout);
	while (wf_natively_was_for_nothing(n, nr_handlers))
		n = wf_real.semtimedop(id, ops, nr,
				       wf_natively_left(deadline_ns, &left));
	return n;
}

WF_API(int, semtimedop, int id, struct sembuf *ops, size_t nr,
       const struct timespec *timeout)
{
	return (int)WF_PARK_EXPR_OR(
		semop_natively(id, ops, nr, timeout),
		wf_park_is_over(wf_io_semop(id, ops, nr, timeout)));
}

WF_API(int, semop, int id, struct sembuf *ops, size_t nr)
{
	return semtimedop(id, ops, nr, NULL);
}

long wf_sysv_syscall(long nr, const long *args)
{
	const struct timespec *timeout =
		nr == SYS_semop ? NULL : (const struct timespec *)args[3];
	int rc = semtimedop((int)args[0], (struct sembuf *)args[1],
			    (size_t)args[2], timeout);

	return rc < 0 ? -errno : rc;
}

WF_API(int, msgsnd, int id, const void *message, size_t bytes, int flags)
{
	return (int)WF_PARK_OR(wf_real.msgsnd(id, message, bytes, flags),
			       wf_io_msgsnd(id, message, bytes, flags));
}

WF_API(ssize_t, msgrcv, int id, void *message, size_t bytes, long type,
       int flags)
{
	return WF_PARK_OR(wf_real.msgrcv(id, message, bytes, type, flags),
			  wf_io_msgrcv(id, message, bytes, type, flags));
}
