/* SPDX-License-Identifier: MIT */
/*
 * The echo server as one loop over io_uring, with the features that make it
 * fast: multishot receives, buffers that the kernel picks, and deferred task
 * work. The kernel owns a buffer until a receive names it. Then the send uses
 * it, and the loop returns it when the send has ended.
 */
#include <errno.h>
#include <liburing.h>
#include <string.h>
#include <unistd.h>

#include "../apps/listen.h"

enum { NR_ENTRIES = 4096, NR_BUFFERS = 16384, GROUP = 1 };

enum what { ACCEPT, RECEIVE, SEND };

static struct io_uring ring;
static struct io_uring_buf_ring *group;
static char (*buffers)[ECHO_BYTES];

/* Packs the operation, the descriptor and the buffer into user_data. */
static uint64_t name(enum what what, int fd, unsigned int buffer)
{
	return (uint64_t)what << 56 | (uint64_t)buffer << 32 | (uint32_t)fd;
}

static struct io_uring_sqe *next(uint64_t user_data, int fd,
				 void (*prepare)(struct io_uring_sqe *, int))
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (sqe == NULL) {
		io_uring_submit(&ring);
		sqe = io_uring_get_sqe(&ring);
	}
	prepare(sqe, fd);
	io_uring_sqe_set_data64(sqe, user_data);
	return sqe;
}

static void prepare_accept(struct io_uring_sqe *sqe, int fd)
{
	io_uring_prep_multishot_accept(sqe, fd, NULL, NULL, 0);
}

static void prepare_receive(struct io_uring_sqe *sqe, int fd)
{
	io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
	sqe->buf_group = GROUP;
}

static void prepare_send(struct io_uring_sqe *sqe, int fd)
{
	io_uring_prep_send(sqe, fd, NULL, 0, MSG_NOSIGNAL | MSG_WAITALL);
}

static void receive(int fd)
{
	next(name(RECEIVE, fd, 0), fd, prepare_receive);
}

static void give_buffer(unsigned int nr)
{
	io_uring_buf_ring_add(group, buffers[nr], ECHO_BYTES,
			      (unsigned short)nr,
			      io_uring_buf_ring_mask(NR_BUFFERS), 0);
	io_uring_buf_ring_advance(group, 1);
}

static void make_buffers(void)
{
	struct io_uring_buf_reg reg = { .ring_entries = NR_BUFFERS,
					.bgid = GROUP };
	void *room = NULL;

	buffers = calloc(NR_BUFFERS, ECHO_BYTES);
	if (buffers == NULL ||
	    posix_memalign(&room, 4096,
			   NR_BUFFERS * sizeof(struct io_uring_buf)) != 0)
		echo_die("buffers");
	group = room;
	reg.ring_addr = (uintptr_t)group;
	errno = -io_uring_register_buf_ring(&ring, &reg, 0);
	if (errno != 0)
		echo_die("buffer ring");
	io_uring_buf_ring_init(group);
	for (unsigned int i = 0; i < NR_BUFFERS; i++)
		give_buffer(i);
}

static void received(const struct io_uring_cqe *cqe, int fd)
{
	if (cqe->res > 0) {
		unsigned int buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;
		struct io_uring_sqe *sqe =
			next(name(SEND, fd, buffer), fd, prepare_send);

		sqe->addr = (uintptr_t)buffers[buffer];
		sqe->len = (uint32_t)cqe->res;
	} else if (cqe->res != -ENOBUFS) {
		close(fd);
		return;
	}
	if ((cqe->flags & IORING_CQE_F_MORE) == 0)
		receive(fd);
}

static void see(const struct io_uring_cqe *cqe, int listener)
{
	int fd = (int)(uint32_t)cqe->user_data;

	switch ((enum what)(cqe->user_data >> 56)) {
	case ACCEPT:
		if (cqe->res < 0) {
			errno = -cqe->res;
			echo_die("accept");
		}
		echo_set_up(cqe->res);
		receive(cqe->res);
		if ((cqe->flags & IORING_CQE_F_MORE) == 0)
			next(name(ACCEPT, listener, 0), listener,
			     prepare_accept);
		break;
	case RECEIVE:
		received(cqe, fd);
		break;
	case SEND:
		give_buffer(cqe->user_data >> 32 & 0xffff);
		break;
	}
}

int main(void)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
		.cq_entries = 8 * NR_ENTRIES,
	};
	int fd = echo_listen();

	errno = -io_uring_queue_init_params(NR_ENTRIES, &ring, &params);
	if (errno != 0) {
		printf("impossible: no io_uring: %s\n", strerror(errno));
		return 77;
	}
	make_buffers();
	next(name(ACCEPT, fd, 0), fd, prepare_accept);
	for (;;) {
		struct io_uring_cqe *cqe;
		unsigned int head, nr = 0;
		int err = io_uring_submit_and_wait(&ring, 1);

		if (err < 0 && err != -EINTR) {
			errno = -err;
			echo_die("io_uring_enter");
		}
		io_uring_for_each_cqe(&ring, head, cqe)
		{
			see(cqe, fd);
			nr++;
		}
		io_uring_cq_advance(&ring, nr);
	}
}
