/* SPDX-License-Identifier: MIT */
/*
 * The two queues of a ring lie in memory shared with the kernel. Each has one
 * producer and one consumer. weft's release store of the submission tail pairs
 * with the kernel's acquire. The kernel's release store of the completion tail
 * pairs with weft's acquire. For the heads it is the reverse.
 */
#include "os/uring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "os/clock.h"
#include "os/futex.h"
#include "os/sys.h"

enum { KERNEL_SIGSET_BYTES = 8 };

static void *map(int fd, size_t bytes, uint64_t what)
{
	long addr = wf_sys(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, fd, what);

	if (addr < 0 && addr > -4096)
		return NULL;
	/* A fork child does not use its parent's ring. */
	wf_sys(SYS_madvise, addr, bytes, MADV_DONTFORK);
	return (void *)addr;
}

int wf_uring_move_high(int fd, int min_fd)
{
	long high = -1;

	/* The limit on descriptors may be below min_fd. */
	for (; high < 0 && min_fd > fd; min_fd /= 2)
		high = wf_sys(SYS_fcntl, fd, F_DUPFD_CLOEXEC, min_fd);
	if (high < 0)
		return fd;
	wf_sys(SYS_close, fd);
	return (int)high;
}

static void find_queues(struct wf_uring *r, const struct io_uring_params *p)
{
	char *q = r->queues;
	uint32_t *array = (uint32_t *)(q + p->sq_off.array);

	r->features = p->features;
	r->sq_entries = p->sq_entries;
	r->sq_head = (_Atomic uint32_t *)(q + p->sq_off.head);
	r->sq_tail = (_Atomic uint32_t *)(q + p->sq_off.tail);
	r->sq_flags = (_Atomic uint32_t *)(q + p->sq_off.flags);
	r->sq_mask = *(uint32_t *)(q + p->sq_off.ring_mask);
	r->cq_head = (_Atomic uint32_t *)(q + p->cq_off.head);
	r->cq_tail = (_Atomic uint32_t *)(q + p->cq_off.tail);
	r->cq_mask = *(uint32_t *)(q + p->cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(q + p->cq_off.cqes);
	r->sqes = r->entries;
	/* The entries are always used in order. */
	for (uint32_t i = 0; i < p->sq_entries; i++)
		array[i] = i;
}

static int map_queues(struct wf_uring *r, const struct io_uring_params *p)
{
	size_t sq = p->sq_off.array + p->sq_entries * sizeof(uint32_t);
	size_t cq =
		p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

	r->queues_bytes = sq > cq ? sq : cq;
	r->entries_bytes = p->sq_entries * sizeof(struct io_uring_sqe);
	r->queues = map(r->fd, r->queues_bytes, IORING_OFF_SQ_RING);
	r->entries = map(r->fd, r->entries_bytes, IORING_OFF_SQES);
	if (r->queues == NULL || r->entries == NULL)
		return -ENOMEM;
	find_queues(r, p);
	return 0;
}

int wf_uring_init(struct wf_uring *ring, uint32_t nr_entries, int min_fd)
{
	const uint32_t needed = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |
				IORING_FEAT_SUBMIT_STABLE |
				IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG;
	struct io_uring_params p = { .flags = IORING_SETUP_COOP_TASKRUN |
					      IORING_SETUP_TASKRUN_FLAG |
					      IORING_SETUP_SUBMIT_ALL |
					      IORING_SETUP_CQSIZE,
				     .cq_entries = 4 * nr_entries };
	long fd = wf_sys(SYS_io_uring_setup, nr_entries, &p);
	int err;

	if (fd < 0)
		return (int)fd;
	memset(ring, 0, sizeof(*ring));
	ring->fd = wf_uring_move_high((int)fd, min_fd);
	err = (p.features & needed) == needed ? map_queues(ring, &p) : -ENOSYS;
	if (err < 0)
		wf_uring_destroy(ring);
	return err;
}

void wf_uring_destroy(struct wf_uring *ring)
{
	if (ring->queues != NULL)
		wf_sys(SYS_munmap, ring->queues, ring->queues_bytes);
	if (ring->entries != NULL)
		wf_sys(SYS_munmap, ring->entries, ring->entries_bytes);
	wf_sys(SYS_close, ring->fd);
	memset(ring, 0, sizeof(*ring));
	ring->fd = -1;
}

bool wf_uring_has_ops(const struct wf_uring *ring, const uint8_t *ops,
		      size_t nr)
{
	enum { MOST_OPS = 256 };
	union {
		struct io_uring_probe head;
		char room[sizeof(struct io_uring_probe) +
			  MOST_OPS * sizeof(struct io_uring_probe_op)];
	} probe;

	memset(&probe, 0, sizeof(probe));
	if (wf_sys(SYS_io_uring_register, ring->fd, IORING_REGISTER_PROBE,
		   &probe, MOST_OPS) < 0)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (ops[i] > probe.head.last_op ||
		    (probe.head.ops[ops[i]].flags & IO_URING_OP_SUPPORTED) == 0)
			return false;
	}
	return true;
}

struct io_uring_sqe *wf_uring_next_sqe(struct wf_uring *ring)
{
	uint32_t tail = wf_load_relaxed(ring->sq_tail);
	struct io_uring_sqe *sqe;

	/* acquire: the kernel has read the old content of the entry */
	if (tail - wf_load_acquire(ring->sq_head) >= ring->sq_entries)
		return NULL;
	sqe = &ring->sqes[tail & ring->sq_mask];
	*sqe = (struct io_uring_sqe){ 0 };
	return sqe;
}

void wf_uring_push(struct wf_uring *ring)
{
	/* release: the entry; pairs with the kernel's acquire */
	wf_store_release(ring->sq_tail, wf_load_relaxed(ring->sq_tail) + 1);
}

bool wf_uring_names(const struct wf_uring *ring, unsigned int first,
		    unsigned int last)
{
	/* acquire: entries up to here are written; pairs with wf_uring_push */
	uint32_t tail = wf_load_acquire(ring->sq_tail);
	uint32_t i = wf_load_relaxed(ring->sq_head);

	/* The kernel's head may have passed the tail that was read above. */
	for (; (int32_t)(tail - i) > 0; i++) {
		const struct io_uring_sqe *sqe = &ring->sqes[i & ring->sq_mask];
		/*
		 * An entry is written again only after the kernel has taken it.
		 */
		unsigned int fd = (unsigned int)__atomic_load_n(
			&sqe->fd, __ATOMIC_RELAXED);

		if (fd >= first && fd <= last)
			return true;
	}
	return false;
}

int wf_uring_submit(struct wf_uring *ring, uint32_t most)
{
	uint32_t nr = wf_uring_unsubmitted(ring);
	uint32_t flags = wf_uring_wants_enter(ring) ? IORING_ENTER_GETEVENTS :
						      0;

	return (int)wf_sys(SYS_io_uring_enter, ring->fd, nr < most ? nr : most,
			   0, flags, NULL, 0);
}

int wf_uring_wait(struct wf_uring *ring, int64_t deadline_ns)
{
	struct __kernel_timespec ts;
	struct io_uring_getevents_arg arg = { .sigmask_sz =
						      KERNEL_SIGSET_BYTES };
	long r;

	if (deadline_ns != WF_OS_FOREVER) {
		int64_t left = deadline_ns - wf_os_now();

		left = left > 0 ? left : 0;
		ts.tv_sec = left / WF_NS_PER_S;
		ts.tv_nsec = left % WF_NS_PER_S;
		arg.ts = (uintptr_t)&ts;
	}
	r = wf_sys(SYS_io_uring_enter, ring->fd, wf_uring_unsubmitted(ring), 1,
		   IORING_ENTER_EXT_ARG | IORING_ENTER_GETEVENTS, &arg,
		   sizeof(arg));
	return r < 0 ? (int)r : 0;
}

int wf_uring_give_up(struct wf_uring *ring, uint64_t user_data)
{
	struct io_uring_sync_cancel_reg reg = {
		.addr = user_data,
		.timeout = { .tv_sec = 0, .tv_nsec = 0 },
	};

	return (int)wf_sys(SYS_io_uring_register, ring->fd,
			   IORING_REGISTER_SYNC_CANCEL, &reg, 1);
}

/*
 * Since Linux 6.13, cancelling a wait and executing it both take the ring's
 * lock. This feature bit came with 6.14.
 */
bool wf_uring_gives_up_surely(const struct wf_uring *ring)
{
	enum { FEAT_RW_ATTR = 1 << 16 };

	return (ring->features & FEAT_RW_ATTR) != 0;
}

void wf_uring_cancel_all(struct wf_uring *ring)
{
	struct io_uring_sync_cancel_reg reg = {
		.flags = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY,
		.timeout = { .tv_sec = 0, .tv_nsec = 0 },
	};

	wf_sys(SYS_io_uring_register, ring->fd, IORING_REGISTER_SYNC_CANCEL,
	       &reg, 1);
}

bool wf_uring_take_cqe(struct wf_uring *ring, struct io_uring_cqe *ret_cqe)
{
	uint32_t head = wf_load_relaxed(ring->cq_head);

	/* acquire: the completion that the kernel has written */
	if (head == wf_load_acquire(ring->cq_tail))
		return false;
	*ret_cqe = ring->cqes[head & ring->cq_mask];
	/* release: the entry is read, and the kernel may write it again */
	wf_store_release(ring->cq_head, head + 1);
	return true;
}

bool wf_uring_suffices(struct wf_uring *ring)
{
	static const uint8_t needed[] = {
		IORING_OP_POLL_ADD, IORING_OP_READV,  IORING_OP_WRITEV,
		IORING_OP_RECV,	    IORING_OP_SEND,   IORING_OP_RECVMSG,
		IORING_OP_SENDMSG,  IORING_OP_ACCEPT, IORING_OP_CONNECT,
		IORING_OP_READ,	    IORING_OP_WRITE,
	};

	/* A seccomp filter may refuse one of the three system calls. */
	return wf_uring_has_ops(ring, needed, sizeof(needed)) &&
	       wf_uring_submit(ring, 0) == 0 &&
	       wf_uring_give_up(ring, 1) == -ENOENT;
}
