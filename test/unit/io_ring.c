/* src/io/ring.c: who may wake a VP that sleeps in its ring, who submits. */
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "io/ring.h"
#include "sched/vp_io.h"

static struct wf_vp vp;

struct wf_options wf_options;

/* No request is made. */
void wf_request_complete(struct wf_thread *me, struct wf_request *r, int result)
{
	fail();
}

static int start(void **state)
{
	wf_sched.vps = &vp;
	wf_sched.nr_vps = 1;
	return wf_ring_start();
}

/* Of weft's descriptors, only that one can be read. */
static uint64_t nr_wakes(void)
{
	uint64_t sum = 0, n;
	unsigned int fd = wf_ring_first_own(0);

	for (; fd != ~0U; fd = wf_ring_first_own(fd + 1)) {
		if (read((int)fd, &n, sizeof(n)) == sizeof(n))
			sum += n;
	}
	return sum;
}

static void *wake(void *arg)
{
	if (arg != NULL && syscall(SYS_close_range, 0, ~0U, 2) != 0)
		return arg;
	wf_vp_io_ops->wake(&vp);
	return NULL;
}

static void all_threads_wake(void **state)
{
	static char own_table;
	pthread_t thread;
	void *failed;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(nr_wakes(), 0);
	wake(NULL);
	assert_int_equal(nr_wakes(), 1);
	/* As the monitor does it. */
	assert_int_equal(pthread_create(&thread, NULL, wake, &own_table), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(nr_wakes(), 1);
}

/* What waits for other files need not be submitted for one that goes away. */
static void closing_submits_what_it_concerns(void **state)
{
	int ends[2];
	unsigned int fd;
	static struct wf_request r;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(pipe(ends), 0);
	fd = (unsigned int)ends[0];
	r = (struct wf_request){ .op = IORING_OP_POLL_ADD,
				 .fd = ends[0],
				 .op_flags = POLLIN };
	wf_ring_push(&vp, &r);
	wf_ring_flush(0, fd - 1);
	wf_ring_flush(fd + 1, ~0U);
	assert_true(wf_vp_io_is_waiting(&vp));
	wf_ring_flush(fd, fd);
	assert_false(wf_vp_io_is_waiting(&vp));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_wake),
		cmocka_unit_test(closing_submits_what_it_concerns),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
