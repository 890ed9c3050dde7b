/* src/io/ring.c: who may wake a VP that sleeps in its ring. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_wake),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
