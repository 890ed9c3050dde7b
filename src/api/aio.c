/*
 * Waits for asynchronous I/O, which kernel threads of libc's carry out as
 * natively. They end a wait by a futex inside libc. So a kernel thread that
 * libc makes for it waits in the place of a thread of weft's.
 *
 * A1. The helper reads the list and the control blocks, which are the
 *     program's again when the call returns. So the call does not return
 *     before the helper has come back from its own.
 */
/* Or libc's headers make of each name the one with 64. */
#undef _FILE_OFFSET_BITS
#include <aio.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "api/api.h"
#include "base/atomic.h"
#include "io/io.h"
#include "libc/real.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "wait/sleep.h"
#include "wait/ufutex.h"

struct wait {
	const struct aiocb *const *list;
	int nr;
	bool is_for_all;
	int err; /* the helper's result */
	sem_t is_over;
	_Atomic bool is_asked; /* to give up */
	_Atomic int helper;    /* its tid */
};

/* --- the helper ----------------------------------------------------------- */

/*
 * A wait with a limit ends by any signal, one of weft's own, too; but libc's of
 * late goes on by itself, and then ends by the limit.
 */
static int wait_for_any(struct wait *w, const struct aiocb *const *list, int nr)
{
	const struct timespec limit = { 0, 100 * WF_NS_PER_MS };

	while (!wf_load_acquire(&w->is_asked)) {
		if (wf_real.aio_suspend(list, nr, &limit) == 0)
			return 0;
		if (errno != EAGAIN && errno != EINTR)
			return errno;
	}
	return EINTR;
}

static int error_of(const struct aiocb *block)
{
	return block == NULL || block->aio_lio_opcode == LIO_NOP ?
		       0 :
		       aio_error(block);
}

static bool is_in_progress(const struct aiocb *block)
{
	return error_of(block) == EINPROGRESS;
}

static bool has_failed(const struct aiocb *block)
{
	return error_of(block) != 0;
}

static int wait_for_all(struct wait *w)
{
	int err = 0;

	for (int i = 0; i < w->nr && err == 0; i++) {
		while (err == 0 && is_in_progress(w->list[i]))
			err = wait_for_any(w, &w->list[i], 1);
	}
	return err;
}

static void *help(void *arg)
{
	struct wait *w = arg;

	wf_store_release(&w->helper, wf_os_gettid());
	w->err = w->is_for_all ? wait_for_all(w) :
				 wait_for_any(w, w->list, w->nr);
	sem_post(&w->is_over);
	return NULL;
}

/* It takes no signal of the program's. */
static int start_helper(struct wait *w)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	int err;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setsigmask_np(&attr, &all);
	err = wf_real.pthread_create(&thread, &attr, help, w);
	pthread_attr_destroy(&attr);
	return err;
}

/* --- who waits ------------------------------------------------------------ */

/*
 * A1. The signal may come just before the call and is sent again; less and less
 * often, for it may also be what makes the limit begin anew.
 */
static void end(void *arg)
{
	struct wait *w = arg;
	int64_t pause_ns = 20 * WF_NS_PER_US;

	wf_store_release(&w->is_asked, true);
	while (sem_trywait(&w->is_over) != 0) {
		int tid = wf_load_acquire(&w->helper);

		if (tid != 0)
			wf_os_tgkill(tid, WF_PREEMPT_SIGNAL);
		wf_sleep_until(wf_os_now() + pause_ns);
		pause_ns *= 2;
	}
}

/* -EINTR, -ETIMEDOUT, or 0: the helper has told. A cancellation point. */
static int wait_for_helper(struct wait *w, int64_t deadline_ns)
{
	struct timespec until = wf_os_timespec(deadline_ns);
	int rc;

	pthread_cleanup_push(end, w);
	rc = deadline_ns == WF_FOREVER ?
		     sem_wait(&w->is_over) :
		     sem_clockwait(&w->is_over, CLOCK_MONOTONIC, &until);
	pthread_cleanup_pop(0);
	return rc == 0 ? 0 : -errno;
}

/* As libc's calls return; -ENOSYS: there is no helper. */
static int run(struct wait *w, int64_t deadline_ns)
{
	int err;

	if (sem_init(&w->is_over, 0, 0) != 0 || start_helper(w) != 0)
		return -ENOSYS;
	err = wait_for_helper(w, deadline_ns);
	if (err != 0)
		end(w);
	/* What is done meanwhile counts more than a deadline, but a handler has
	 * ended the wait before. */
	if (w->err == 0 && err == -ETIMEDOUT)
		err = 0;
	else if (err == 0)
		err = -w->err;
	sem_destroy(&w->is_over);
	return err == -ETIMEDOUT ? -EAGAIN : err;
}

/* Is there any to wait for, and none that has ended? */
static bool would_wait(const struct aiocb *const list[], int nr)
{
	bool is_any = false;

	for (int i = 0; i < nr; i++) {
		if (list[i] == NULL)
			continue;
		if (aio_error(list[i]) != EINPROGRESS)
			return false;
		is_any = true;
	}
	return is_any;
}

WF_API(int, aio_suspend, const struct aiocb *const list[], int nr,
       const struct timespec *timeout)
{
	struct wait w = { .list = list, .nr = nr };
	int64_t deadline_ns;
	int rc;

	if (!wf_io_can_park() || !would_wait(list, nr) ||
	    wf_deadline_from_rel(timeout, &deadline_ns) < 0)
		return wf_real.aio_suspend(list, nr, timeout);
	rc = deadline_ns > wf_os_now() ? run(&w, deadline_ns) : -EAGAIN;
	return rc == -ENOSYS ? wf_real.aio_suspend(list, nr, timeout) :
			       wf_api_errno(rc);
}

/* The same but for the type. */
WF_API(int, aio_suspend64, const struct aiocb64 *const list[], int nr,
       const struct timespec *timeout)
{
	return aio_suspend((const struct aiocb *const *)list, nr, timeout);
}

static bool is_any(struct aiocb *const list[], int nr,
		   bool (*is)(const struct aiocb *))
{
	for (int i = 0; i < nr; i++) {
		if (is(list[i]))
			return true;
	}
	return false;
}

WF_API(int, lio_listio, int mode, struct aiocb *const list[], int nr,
       struct sigevent *event)
{
	struct wait w = {
		.list = (const struct aiocb *const *)list,
		.nr = nr,
		.is_for_all = true,
	};
	int rc, state;

	if (mode != LIO_WAIT || nr < 0 || !wf_io_can_park())
		return wf_real.lio_listio(mode, list, nr, event);
	rc = wf_real.lio_listio(LIO_NOWAIT, list, nr, NULL);
	/* Some may have begun even so. */
	if (rc < 0 && !is_any(list, nr, is_in_progress))
		return rc;
	/* As libc's, it is no cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	rc = run(&w, WF_FOREVER);
	if (rc == -ENOSYS)
		rc = -wait_for_all(&w);
	pthread_setcancelstate(state, NULL);
	if (rc == 0 && is_any(list, nr, has_failed))
		rc = -EIO;
	return wf_api_errno(rc);
}

WF_API(int, lio_listio64, int mode, struct aiocb64 *const list[], int nr,
       struct sigevent *event)
{
	return lio_listio(mode, (struct aiocb *const *)list, nr, event);
}
