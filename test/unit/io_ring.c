/* src/io/ring.c: who may wake a VP that sleeps in its ring, who submits. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/options.h"
#include "io/descriptor.h"
#include "io/ring.h"
#include "io/ring_internal.h"
#include "sched/carrier.h"
#include "sched/queue.h"
#include "sched/vp_io.h"

static struct wf_carrier carrier;
static struct wf_vp vp = { .carrier = &carrier };

struct wf_options wf_options;

/* None is asked about. */
void wf_request_refuse(struct wf_thread *me, struct wf_request *r)
{
	fail();
}

void wf_request_complete(struct wf_thread *me, struct wf_request *r, int result)
{
	r->result = result;
	wf_store_relaxed(&r->is_done, true);
}

static int start(void **state)
{
	wf_sched.vps = &vp;
	wf_sched.nr_vps = 1;
	wf_store_relaxed(&vp.patience, WF_PATIENCE_MOST);
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

static struct wf_request r;

/* Its number. */
static unsigned int push_poll(void)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	r = (struct wf_request){ .op = IORING_OP_POLL_ADD,
				 .fd = ends[0],
				 .op_flags = POLLIN };
	wf_ring_push(&vp, &r);
	return (unsigned int)ends[0];
}

/* What waits for other files need not be submitted for one that goes away. */
static void closing_submits_what_it_concerns(void **state)
{
	unsigned int fd;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	fd = push_poll();
	wf_ring_flush(0, fd - 1);
	wf_ring_flush(fd + 1, ~0U);
	assert_true(wf_vp_io_is_waiting(&vp));
	wf_ring_flush(fd, fd);
	assert_false(wf_vp_io_is_waiting(&vp));
}

/* Who computes makes no system call in which the kernel would hear of it. */
static void what_computes_is_not_waited_for(void **state)
{
	static struct wf_thread hog = { .hog = WF_HOG_IS };

	if (wf_ring_ensure(&vp) < 0)
		skip();
	push_poll();
	wf_vp_io_look(&vp);
	assert_true(wf_vp_io_is_waiting(&vp));
	wf_store_relaxed(&vp.cur, &hog);
	wf_vp_io_look(&vp);
	assert_false(wf_vp_io_is_waiting(&vp));
	wf_store_relaxed(&vp.cur, NULL);
}

/* As many points later as the tick says. */
static void a_request_waits_for_some_points(void **state)
{
	if (wf_ring_ensure(&vp) < 0)
		skip();
	push_poll();
	wf_store_relaxed(&vp.patience, 3);
	for (int nr_looks = 1; nr_looks < 6; nr_looks++)
		wf_vp_io_look(&vp);
	assert_true(wf_vp_io_is_waiting(&vp));
	wf_vp_io_look(&vp);
	assert_false(wf_vp_io_is_waiting(&vp));
	wf_store_relaxed(&vp.patience, WF_PATIENCE_MOST);
}

/* The oldest first; none twice. */
static void some_are_handed_over_at_a_time(void **state)
{
	enum { NR = 100 };
	static struct wf_request polls[NR];
	uint32_t left = NR, before;
	int ends[2];

	if (wf_ring_ensure(&vp) < 0)
		skip();
	wf_vp_io_ops->submit(&vp);
	assert_false(wf_vp_io_submit_some(&vp));
	assert_int_equal(pipe(ends), 0);
	for (int i = 0; i < NR; i++) {
		polls[i] = (struct wf_request){ .op = IORING_OP_POLL_ADD,
						.fd = ends[0],
						.op_flags = POLLIN };
		wf_ring_push(&vp, &polls[i]);
	}
	while (left > 0) {
		before = left;
		assert_true(wf_vp_io_submit_some(&vp));
		left = wf_uring_unsubmitted(&vp.io->ring);
		assert_true(left < before);
		assert_true(before == NR ? left > NR / 2 : left < before);
	}
	assert_false(wf_vp_io_submit_some(&vp));
	assert_false(wf_load_relaxed(&polls[0].is_done));
	assert_int_equal(write(ends[1], "x", 1), 1);
	wf_vp_io_look(&vp);
	for (int i = 0; i < NR; i++)
		assert_int_equal(polls[i].result, POLLIN);
}

/* Does it wait before it tries? */
static bool push_receive(struct wf_request *receive, int fd, char *byte)
{
	const struct wf_uring *ring = &vp.io->ring;
	uint32_t tail = wf_load_relaxed(ring->sq_tail);

	*receive = (struct wf_request){ .op = IORING_OP_RECV,
					.fd = fd,
					.ioprio = IORING_RECVSEND_POLL_FIRST,
					.addr = (uintptr_t)byte,
					.len = 1 };
	wf_ring_push(&vp, receive);
	return (ring->sqes[tail & ring->sq_mask].ioprio &
		IORING_RECVSEND_POLL_FIRST) != 0;
}

/* As the last ones found something at once, or did not. */
static void receives_are_tried_where_there_is_something(void **state)
{
	static struct wf_request receives[4];
	int ends[2];
	char byte;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	assert_true(push_receive(&receives[0], ends[0], &byte));
	assert_true(wf_vp_io_submit_some(&vp));
	assert_int_equal(receives[0].result, 1);
	assert_false(push_receive(&receives[1], ends[0], &byte));
	assert_false(push_receive(&receives[2], ends[0], &byte));
	assert_true(wf_vp_io_submit_some(&vp));
	assert_int_equal(receives[2].result, 1);
	assert_int_equal(byte, 'c');
	assert_false(push_receive(&receives[3], ends[0], &byte));
	assert_true(wf_vp_io_submit_some(&vp));
	assert_false(wf_load_relaxed(&receives[3].is_done));
	assert_true(push_receive(&receives[0], ends[0], &byte));
	/* What has been tried waits like the others. */
	assert_int_equal(write(ends[1], "de", 2), 2);
	assert_true(wf_vp_io_submit_some(&vp));
	assert_int_equal(receives[3].result, 1);
	assert_int_equal(receives[0].result, 1);
}

/* --- another carrier ------------------------------------------------------ */

static struct wf_carrier other = { .number = 1 };

/* The VP has another carrier, for long enough. Does the kernel let it move? */
static bool pass_on(void)
{
	uint32_t nr_given_up = vp.io->nr_given_up;

	vp.carrier = vp.carrier == &carrier ? &other : &carrier;
	wf_vp_io_look(&vp);
	assert_int_equal(vp.io->nr_given_up, nr_given_up);
	usleep(2000 + 20 * wf_load_relaxed(&vp.nr_requests));
	wf_vp_io_look(&vp);
	return wf_uring_gives_up_surely(&vp.io->ring);
}

/* All that the kernel has to tell has been taken. */
static void look_for_all(void)
{
	wf_vp_io_ops->submit(&vp);
	wf_uring_submit(&vp.io->ring, 0);
	usleep(1000);
	wf_vp_io_look(&vp);
}

static void requests_follow_their_vp(void **state)
{
	static struct wf_request receive, firm;
	int ends[2], firm_ends[2];
	uint64_t id;
	char bytes[2];

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, firm_ends), 0);
	push_receive(&receive, ends[0], &bytes[0]);
	/* What may have received a part stays where it is. */
	push_receive(&firm, firm_ends[0], &bytes[1]);
	firm.op_flags = MSG_WAITALL;
	wf_vp_io_ops->submit(&vp);
	id = wf_load_relaxed(&receive.ring_id);
	if (!pass_on())
		skip();
	assert_true(wf_load_relaxed(&receive.ring_id) != id);
	look_for_all();
	assert_int_equal(vp.io->nr_given_up, 0);
	assert_false(wf_load_relaxed(&receive.is_done));
	assert_false(wf_load_relaxed(&firm.is_done));
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(write(firm_ends[1], "y", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
	assert_int_equal(firm.result, 1);
	assert_memory_equal(bytes, "xy", 2);
}

/* Data that came before is not lost, nor an end that was asked for before. */
static void what_came_before_follows(void **state)
{
	static struct wf_request receive, poll_of;
	static struct wf_thread nobody;
	int ends[2];
	char byte = 0;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	push_receive(&receive, ends[0], &byte);
	poll_of = (struct wf_request){ .op = IORING_OP_POLL_ADD,
				       .fd = ends[0],
				       .op_flags = POLLPRI };
	wf_ring_push(&vp, &poll_of);
	wf_vp_io_ops->submit(&vp);
	assert_int_equal(write(ends[1], "x", 1), 1);
	wf_ring_cancel(&nobody, &poll_of);
	pass_on();
	look_for_all();
	wf_ring_cancel(&nobody, &poll_of);
	look_for_all();
	assert_int_equal(receive.result, 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(poll_of.result, -ECANCELED);
}

/* The number may be another file's. */
static void waits_for_what_was_closed_stay(void **state)
{
	static struct wf_request receive;
	int ends[2], others[2];
	uint64_t id;
	char byte = 0;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, others), 0);
	push_receive(&receive, ends[0], &byte);
	id = wf_load_relaxed(&receive.ring_id);
	wf_descriptor_forget(ends[0]);
	wf_ring_flush((unsigned int)ends[0], (unsigned int)ends[0]);
	assert_int_equal(dup2(others[0], ends[0]), ends[0]);
	assert_int_equal(write(others[1], "n", 1), 1);
	pass_on();
	assert_int_equal(wf_load_relaxed(&receive.ring_id), id);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
	assert_int_equal(byte, 'x');
}

/* Given up, they would take wakes from the others until the kernel hears. */
static void who_is_one_of_several_stays(void **state)
{
	static struct wf_request polls;
	int ends[2];
	uint64_t id;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(pipe(ends), 0);
	polls = (struct wf_request){ .op = IORING_OP_POLL_ADD,
				     .fd = ends[0],
				     .op_flags = POLLIN | EPOLLEXCLUSIVE };
	wf_ring_push(&vp, &polls);
	wf_vp_io_ops->submit(&vp);
	id = wf_load_relaxed(&polls.ring_id);
	pass_on();
	assert_int_equal(wf_load_relaxed(&polls.ring_id), id);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(polls.result, POLLIN);
}

/* It would sleep, and they hear of nothing. */
static void requests_follow_from_who_closes(void **state)
{
	static struct wf_request receive;
	int ends[2];
	uint64_t id;
	char byte = 0;

	if (wf_ring_ensure(&vp) < 0 || !wf_uring_gives_up_surely(&vp.io->ring))
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	push_receive(&receive, ends[0], &byte);
	id = wf_load_relaxed(&receive.ring_id);
	wf_ring_flush((unsigned int)ends[0], (unsigned int)ends[0]);
	wf_vp_io_look(&vp);
	usleep(2000 + 20 * wf_load_relaxed(&vp.nr_requests));
	wf_vp_io_look(&vp);
	assert_true(wf_load_relaxed(&receive.ring_id) != id);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
}

/* Nor from who is woken by each, in a call that would end by it. */
static void requests_stay_if_told(void **state)
{
	static struct wf_request receive;
	int ends[2];
	uint64_t id;
	char byte = 0;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	push_receive(&receive, ends[0], &byte);
	wf_vp_io_ops->submit(&vp);
	id = wf_load_relaxed(&receive.ring_id);
	vp.requests_stay = true;
	pass_on();
	vp.requests_stay = false;
	assert_int_equal(wf_load_relaxed(&receive.ring_id), id);
	assert_int_equal(write(ends[1], "x", 1), 1);
	look_for_all();
	assert_int_equal(receive.result, 1);
}

/* Who waits for a word looks at it again. */
static void waits_for_words_end(void **state)
{
	static struct wf_request wait;
	static uint32_t word;

	if (wf_ring_ensure(&vp) < 0 || wf_ring_lacks_futex())
		skip();
	wait = (struct wf_request){ .op = WF_RING_OP_FUTEX_WAIT,
				    .fd = 2 /* FUTEX2_SIZE_U32 */,
				    .addr = (uintptr_t)&word,
				    .off = 0,
				    .addr3 = UINT32_MAX };
	wf_ring_push(&vp, &wait);
	wf_vp_io_ops->submit(&vp);
	if (!pass_on())
		skip();
	assert_true(wf_load_relaxed(&wait.is_done));
	assert_int_equal(wait.result, 0);
	look_for_all();
	assert_int_equal(vp.io->nr_given_up, 0);
}

/* Ids that come back are those of other requests. */
static void ids_are_used_once(void **state)
{
	enum { NR = 3 };
	static struct wf_under_way u;
	struct wf_request requests[NR];
	uint64_t first[NR], again;

	u.rows = calloc(NR + 1, sizeof(*u.rows));
	assert_non_null(u.rows);
	for (int i = 0; i < NR; i++)
		first[i] = wf_under_way_add(&u, &requests[i], 0);
	assert_ptr_equal(wf_under_way_take(&u, first[1]), &requests[1]);
	assert_null(wf_under_way_take(&u, first[1]));
	again = wf_under_way_add(&u, &requests[1], 0);
	assert_int_equal((uint32_t)again, (uint32_t)first[1]);
	assert_null(wf_under_way_take(&u, first[1]));
	again = wf_under_way_renew(&u, (uint32_t)again, 1);
	assert_ptr_equal(wf_under_way_take(&u, again), &requests[1]);
	assert_ptr_equal(wf_under_way_take(&u, first[0]), &requests[0]);
	assert_ptr_equal(wf_under_way_take(&u, first[2]), &requests[2]);
	assert_int_equal(u.nr_used, NR);
	free(u.rows);
}

static _Atomic int nr_refused;
static _Atomic bool is_over;

static void refuse(int sig, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	c->uc_mcontext.gregs[REG_RAX] = -EAGAIN;
	nr_refused++;
}

/* As by a kernel that has no memory for it. */
static int refuse_submission(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_enter, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { 4, code };
	struct sigaction action = { .sa_sigaction = refuse,
				    .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &action, NULL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void *flush_refused(void *fd)
{
	unsigned int number = (unsigned int)(uintptr_t)fd;
	bool can_filter = refuse_submission() == 0;

	wf_ring_flush(number, number);
	is_over = true;
	return can_filter ? fd : NULL;
}

static void closing_tries_again(void **state)
{
	pthread_t thread;
	unsigned int fd;
	void *filtered;

	if (wf_ring_ensure(&vp) < 0)
		skip();
	fd = push_poll();
	pthread_create(&thread, NULL, flush_refused, (void *)(uintptr_t)fd);
	while (nr_refused < 2 && !is_over)
		usleep(100);
	wf_ring_flush(fd, fd);
	pthread_join(thread, &filtered);
	if (filtered == NULL)
		skip();
	assert_true(nr_refused >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_threads_wake),
		cmocka_unit_test(closing_submits_what_it_concerns),
		cmocka_unit_test(what_computes_is_not_waited_for),
		cmocka_unit_test(a_request_waits_for_some_points),
		cmocka_unit_test(some_are_handed_over_at_a_time),
		cmocka_unit_test(receives_are_tried_where_there_is_something),
		cmocka_unit_test(requests_follow_their_vp),
		cmocka_unit_test(what_came_before_follows),
		cmocka_unit_test(waits_for_what_was_closed_stay),
		cmocka_unit_test(who_is_one_of_several_stays),
		cmocka_unit_test(requests_follow_from_who_closes),
		cmocka_unit_test(requests_stay_if_told),
		cmocka_unit_test(waits_for_words_end),
		cmocka_unit_test(ids_are_used_once),
		cmocka_unit_test(closing_tries_again),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
