/* SPDX-License-Identifier: MIT */
/* src/io/backend/watcher.c: ready descriptors; workers only record requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/backend/watcher.h"
#include "io/backend/watcher_set.h"
#include "io/backend/worker.h"
#include "os/kthread.h"
#include "sched/runtime.h"
#include "sched/yield.h"

/* --- fakes --------------------------------------------------------------- */

__thread struct wf_thread *wf_self;
static struct wf_thread self;
static struct wf_carrier carrier; /* without it signals would be blocked */

static _Atomic int nr_handed, nr_asked;
static struct wf_request *_Atomic handed;
static bool is_refusing;

struct wf_thread *wf_runtime_attach(void)
{
	return &self;
}

void wf_runtime_reacquire_slow(struct wf_thread *t)
{
	fail();
}

void wf_runtime_leave_slow(struct wf_thread *t)
{
	fail();
}

int wf_sched_yield(void)
{
	return usleep(100);
}

uint64_t wf_os_close_signals(void)
{
	return 0;
}

void wf_os_set_thread_name(const char *name)
{
}

void wf_os_set_signal_mask(uint64_t mask)
{
}

void wf_request_complete(struct wf_thread *me, struct wf_request *r, int result)
{
	r->result = result;
	atomic_fetch_add(r->nr_done, 1);
}

static void (*run_watcher)(void *);
static void *run_thread(void *arg)
{
	run_watcher(NULL);
	return NULL;
}

void wf_worker_check_dismissal(void)
{
}
int wf_worker_start_thread(void (*run)(void *))
{
	pthread_t thread;

	run_watcher = run;
	assert_int_equal(pthread_create(&thread, NULL, run_thread, NULL), 0);
	return 0;
}

bool wf_worker_handles(const struct wf_request *r)
{
	return false;
}

int wf_worker_push(struct wf_request *r, enum wf_worker_status status)
{
	assert_int_equal(status, WF_WORKER_WAIT);
	if (is_refusing)
		return -ENOSYS;
	handed = r;
	nr_handed++;
	return 0;
}

void wf_worker_cancel(const struct wf_request *r)
{
	nr_asked++;
}

/* --- requests ------------------------------------------------------------ */

struct call {
	struct wf_request r;
	_Atomic uint32_t nr_done;
	struct iovec iov;
	char data[100];
};

static int push(struct call *c, uint8_t op, int fd)
{
	c->r.op = op;
	c->r.fd = fd;
	c->r.pinned_fd = -1;
	c->r.nr_done = &c->nr_done;
	c->iov = (struct iovec){ c->data, sizeof(c->data) };
	if (op == IORING_OP_READV) {
		c->r.addr = (uintptr_t)&c->iov;
		c->r.len = 1;
	} else if (op == IORING_OP_RECV) {
		c->r.addr = (uintptr_t)c->data;
		if (c->r.len == 0)
			c->r.len = sizeof(c->data);
	}
	return wf_watcher_push(&self, &c->r);
}

static int result_of(struct call *c)
{
	while (c->nr_done == 0)
		usleep(100);
	return c->r.result;
}

static void wait_for_handed(int nr)
{
	while (nr_handed != nr)
		usleep(100);
}

static int ends[2];

static int set_up(void **state)
{
	nr_handed = nr_asked = 0;
	is_refusing = false;
	self.carrier = &carrier;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int tear_down(void **state)
{
	wf_watcher_before_close((unsigned int)ends[0], (unsigned int)ends[0]);
	wf_watcher_before_close((unsigned int)ends[1], (unsigned int)ends[1]);
	return close(ends[0]) + close(ends[1]);
}

/* --- readiness ----------------------------------------------------------- */

static void data_goes_to_the_reader(void **state)
{
	struct call c = { 0 };

	assert_int_equal(push(&c, IORING_OP_READV, ends[0]), 0);
	assert_int_equal(c.nr_done, 0);
	assert_int_equal(write(ends[1], "data", 4), 4);
	assert_int_equal(result_of(&c), 4);
	assert_memory_equal(c.data, "data", 4);
}

static void first_come_first_served(void **state)
{
	struct call c[3] = { 0 };

	for (int i = 0; i < 3; i++) {
		c[i].r.len = 1;
		assert_int_equal(push(&c[i], IORING_OP_RECV, ends[0]), 0);
	}
	assert_int_equal(write(ends[1], "a", 1), 1);
	assert_int_equal(result_of(&c[0]), 1);
	assert_int_equal(c[0].data[0], 'a');
	assert_int_equal(c[1].nr_done, 0);
	assert_int_equal(write(ends[1], "bc", 2), 2);
	assert_int_equal(result_of(&c[1]), 1);
	assert_int_equal(result_of(&c[2]), 1);
	assert_int_equal(c[1].data[0], 'b');
	assert_int_equal(c[2].data[0], 'c');
}

static void reader_and_writer_of_one_number(void **state)
{
	struct call reader = { 0 }, writer = { 0 };
	struct msghdr msg = { .msg_iov = &writer.iov, .msg_iovlen = 1 };
	char buf[4096] = { 0 };

	while (send(ends[0], buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	writer.r.addr = (uintptr_t)&msg;
	assert_int_equal(push(&reader, IORING_OP_RECV, ends[0]), 0);
	assert_int_equal(push(&writer, IORING_OP_SENDMSG, ends[0]), 0);
	assert_int_equal(reader.nr_done + writer.nr_done, 0);
	while (recv(ends[1], buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(result_of(&writer), sizeof(writer.data));
	assert_int_equal(reader.nr_done, 0);
	assert_int_equal(write(ends[1], "r", 1), 1);
	assert_int_equal(result_of(&reader), 1);
}

static void all_polls_are_woken(void **state)
{
	struct call in = { .r.op_flags = POLLIN }, also_in = in;
	struct call urgent = { .r.op_flags = POLLPRI };

	assert_int_equal(push(&in, IORING_OP_POLL_ADD, ends[0]), 0);
	assert_int_equal(push(&urgent, IORING_OP_POLL_ADD, ends[0]), 0);
	assert_int_equal(push(&also_in, IORING_OP_POLL_ADD, ends[0]), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(result_of(&in), POLLIN);
	assert_int_equal(result_of(&also_in), POLLIN);
	assert_int_equal(urgent.nr_done, 0);
	wf_watcher_cancel(&self, &urgent.r);
	assert_int_equal(result_of(&urgent), -ECANCELED);
}

static void files_without_readiness(void **state)
{
	struct call file = { .r.op_flags = POLLIN }, closed = file;
	int fd = memfd_create("file", 0);

	assert_int_equal(push(&file, IORING_OP_POLL_ADD, fd), 0);
	assert_int_equal(file.nr_done, 1);
	assert_int_equal(file.r.result, POLLIN);
	close(fd);
	assert_int_equal(push(&closed, IORING_OP_POLL_ADD, fd), 0);
	assert_int_equal(result_of(&closed), -EBADF);
}

static void given_up_waits_take_nothing(void **state)
{
	struct call c = { 0 };
	char byte;

	assert_int_equal(push(&c, IORING_OP_RECV, ends[0]), 0);
	wf_watcher_cancel(&self, &c.r);
	assert_int_equal(result_of(&c), -ECANCELED);
	assert_int_equal(write(ends[1], "x", 1), 1);
	usleep(5000);
	assert_int_equal(recv(ends[0], &byte, 1, MSG_DONTWAIT), 1);
	/* A second cancellation changes nothing. */
	wf_watcher_cancel(&self, &c.r);
	assert_int_equal(c.nr_done, 1);
}

static void waitall_keeps_received_bytes(void **state)
{
	struct call c = { 0 };
	int left;

	c.r.op_flags = MSG_WAITALL;
	assert_int_equal(push(&c, IORING_OP_RECV, ends[0]), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(write(ends[1], "abc", 3), 3);
	do { /* until the watcher has received all bytes */
		char byte;

		usleep(1000);
		left = (int)recv(ends[0], &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	} while (left > 0);
	assert_int_equal(c.nr_done, 0);
	assert_int_equal(nr_handed, 0);
	/* The watcher may be in its last receive. */
	while (c.nr_done == 0) {
		wf_watcher_cancel(&self, &c.r);
		usleep(100);
	}
	assert_int_equal(c.r.result, 60);
	assert_memory_equal(c.data + 57, "abc", 3);
}

/* --- closing ------------------------------------------------------------- */

static void wait_is_on_the_file(void **state)
{
	struct call c = { 0 };
	int other[2];
	unsigned int set = wf_watcher_set_first_private(0);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	assert_int_equal(push(&c, IORING_OP_READV, ends[0]), 0);
	wf_watcher_before_close(0, ~0U);
	assert_int_not_equal(wf_watcher_set_first_private(set + 1), ~0U);
	assert_int_equal(dup2(other[0], ends[0]), ends[0]);
	assert_int_equal(write(other[1], "new", 3), 3);
	usleep(5000);
	assert_int_equal(c.nr_done, 0);
	assert_int_equal(write(ends[1], "old", 3), 3);
	assert_int_equal(result_of(&c), 3);
	assert_memory_equal(c.data, "old", 3);
	/* The duplicate is closed; the program keeps its number. */
	assert_int_equal(wf_watcher_set_first_private(set + 1), ~0U);
	assert_int_equal(c.r.fd, ends[0]);
	close(other[0]);
	close(other[1]);
}

static void number_is_used_again(void **state)
{
	struct call first = { 0 }, second = { 0 };

	assert_int_equal(push(&first, IORING_OP_READV, ends[0]), 0);
	assert_int_equal(write(ends[1], "1", 1), 1);
	assert_int_equal(result_of(&first), 1);
	assert_int_equal(tear_down(NULL), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(push(&second, IORING_OP_READV, ends[0]), 0);
	assert_int_equal(write(ends[1], "2", 1), 1);
	assert_int_equal(result_of(&second), 1);
}

/* A thread begins to wait after the closer has handled all waiting threads. */
static void wait_that_begins_just_before_the_close(void **state)
{
	struct call gone = { 0 }, replaced = { 0 };
	unsigned int number = (unsigned int)ends[0];
	int other[2], peer = ends[1];

	wf_watcher_before_close(number, number);
	assert_int_equal(push(&gone, IORING_OP_READV, ends[0]), 0);
	close(ends[0]);
	wf_watcher_after_close(number, number);
	assert_int_equal(result_of(&gone), -EBADF);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	assert_int_equal(other[0], ends[0]);
	wf_watcher_before_close(number, number);
	assert_int_equal(push(&replaced, IORING_OP_READV, ends[0]), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(dup2(ends[0], other[0]), other[0]);
	wf_watcher_after_close(number, number);
	assert_int_equal(write(ends[1], "new", 3), 3);
	assert_int_equal(result_of(&replaced), 3);
	close(other[0]);
	close(other[1]);
	close(peer);
}

/* --- workers ------------------------------------------------------------- */

static int listener;

static void connect_one(const struct sockaddr_un *to)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (const void *)to, sizeof(*to)), 0);
	close(fd);
}

static struct sockaddr_un listen_somewhere(int type)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "weft-unit-%d",
		 getpid());
	listener = socket(AF_UNIX, type, 0);
	assert_int_equal(bind(listener, (void *)&name, sizeof(name)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(listener, 10), 0);
	return name;
}

static void one_accept_at_a_time(void **state)
{
	struct sockaddr_un name = listen_somewhere(SOCK_STREAM);
	struct call c[2] = { 0 };

	assert_int_equal(push(&c[0], IORING_OP_ACCEPT, listener), 0);
	assert_int_equal(push(&c[1], IORING_OP_ACCEPT, listener), 0);
	connect_one(&name);
	wait_for_handed(1);
	assert_ptr_equal(handed, &c[0].r);
	connect_one(&name);
	usleep(5000);
	assert_int_equal(nr_handed, 1);
	/* The worker cancels requests that it has taken. */
	wf_watcher_cancel(&self, &c[0].r);
	assert_int_equal(nr_asked, 1);
	assert_int_equal(c[0].nr_done, 0);
	close(accept(listener, NULL, NULL));
	wf_watcher_served(&c[0].r, 77);
	assert_int_equal(result_of(&c[0]), 77);
	wait_for_handed(2);
	assert_ptr_equal(handed, &c[1].r);
	wf_watcher_served(&c[1].r, -EINTR);
	assert_int_equal(result_of(&c[1]), -EINTR);
	close(listener);
}

static void no_worker_is_to_be_had(void **state)
{
	struct sockaddr_un name = listen_somewhere(SOCK_STREAM);
	struct call c = { 0 };

	is_refusing = true;
	assert_int_equal(push(&c, IORING_OP_ACCEPT, listener), 0);
	connect_one(&name);
	assert_int_equal(result_of(&c), -ENOSYS);
	close(listener);
}

/* poll reports the sender as ready, but the send would wait. */
static void ready_but_not_writable(void **state)
{
	struct sockaddr_un name = listen_somewhere(SOCK_DGRAM);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct call c = { 0 };
	struct msghdr msg = { &name, sizeof(name), &c.iov, 1, NULL, 0, 0 };

	while (sendto(fd, "x", 1, MSG_DONTWAIT, (void *)&name, sizeof(name)) ==
	       1)
		;
	c.r.addr = (uintptr_t)&msg;
	assert_int_equal(push(&c, IORING_OP_SENDMSG, fd), 0);
	wait_for_handed(1);
	wf_watcher_served(&c.r, 100);
	assert_int_equal(result_of(&c), 100);
	close(fd);
	close(listener);
}

/* The number has become a file's, unseen by weft. */
static void unarmable_files_end_the_wait(void **state)
{
	struct call in = { 0 }, urgent = { .r.op_flags = POLLPRI };
	int copy = dup(ends[0]), file = memfd_create("file", 0);

	assert_int_equal(push(&in, IORING_OP_RECV, ends[0]), 0);
	assert_int_equal(push(&urgent, IORING_OP_POLL_ADD, ends[0]), 0);
	assert_int_equal(dup2(file, ends[0]), ends[0]);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(result_of(&in), -ENOTSOCK);
	assert_int_equal(result_of(&urgent), -ENOSYS);
	close(copy);
	close(file);
}

static void forked_child_starts_afresh(void **state)
{
	struct call c = { 0 };

	assert_int_equal(push(&c, IORING_OP_READV, ends[0]), 0);
	wf_watcher_fork_child();
	assert_int_equal(wf_watcher_set_first_private(0), ~0U);
	data_goes_to_the_reader(state);
	assert_int_equal(c.nr_done, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data_goes_to_the_reader),
		TEST(first_come_first_served),
		TEST(reader_and_writer_of_one_number),
		TEST(all_polls_are_woken),
		TEST(files_without_readiness),
		TEST(given_up_waits_take_nothing),
		TEST(waitall_keeps_received_bytes),
		TEST(wait_is_on_the_file),
		TEST(number_is_used_again),
		TEST(wait_that_begins_just_before_the_close),
		TEST(one_accept_at_a_time),
		TEST(no_worker_is_to_be_had),
		TEST(ready_but_not_writable),
		TEST(unarmable_files_end_the_wait),
		TEST(forked_child_starts_afresh),
	};

	wf_self = &self;
	self.carrier = &carrier;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
