#include "io/wait.h"

#include <errno.h>
#include <linux/io_uring.h>

#include "io/descriptor.h"
#include "io/io.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

bool wf_io_can_park(void)
{
	const struct wf_thread *t = wf_self;

	return t != NULL && t->kind == WF_THREAD_MULTIPLEXED;
}

int wf_io_run(struct wf_request *r, int64_t deadline_ns)
{
	uint32_t nr_handlers = wf_self->nr_handlers;
	int n;

	do {
		n = wf_request_run(r, deadline_ns);
	} while (n == -ERESTART && (deadline_ns == WF_FOREVER ||
				    wf_self->nr_handlers == nr_handlers));
	if (n == -ETIMEDOUT)
		return -EAGAIN;
	return n == -ERESTART ? -EINTR : n;
}

int wf_io_wait_ready(int fd, uint32_t events)
{
	struct wf_request r = {
		.op = IORING_OP_POLL_ADD,
		.fd = fd,
		.op_flags = events,
	};
	int n = wf_io_run(&r, WF_FOREVER);

	return n < 0 ? n : 0;
}

long wf_io_call_when_ready(long nr_call, int fd, const struct iovec *iov,
			   int nr, uint32_t events)
{
	if (!wf_descriptor_is_nonblocking(fd)) {
		int err = wf_io_wait_ready(fd, events);

		if (err == -EINTR || err == -ECANCELED)
			return err;
	}
	return wf_sys(nr_call, fd, iov, nr);
}
