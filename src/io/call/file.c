/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes of files on disks. The thread makes the calls that are
 * likely not to wait for the disk. It hands the others to its VP's ring or to a
 * worker, and parks.
 *
 * Reads at the caller's position: one call that does not wait (RWF_NOWAIT)
 * reads the bytes that are in the page cache. The rest is a request to the
 * ring, or without a ring a worker's call. After eight reads in a row that had
 * to wait, the thread makes that call for only one read in 32: the ring makes
 * the same attempt itself, in the system call that submits the read. Some files
 * do not support RWF_NOWAIT. The thread reads them by the plain call as long as
 * that is quick, and then as long as the page cache has all bytes. With
 * O_DIRECT the thread does not try: nothing is there at once, and the kernel
 * would wait even if asked not to.
 *
 * Buffered writes hardly ever wait: they are plain calls as long as these are
 * quick. With O_DIRECT or O_DSYNC they always wait.
 *
 * At the file's own position each transfer is the plain call, because only that
 * moves the position and keeps two threads from reading the same bytes. The
 * thread makes the call as long as it is quick, or if the page cache has all
 * bytes. Otherwise a worker makes it, or the thread binds itself to a carrier.
 *
 * Rejected: reads at the file's own position by the ring. It advances the
 * position when the read is over, or not at all. Rejected: to read first what
 * is there without waiting. If two such reads both get a part, one would
 * continue where the other's rest is.
 */
#include "io/call/file.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/options.h"
#include "io/backend/call.h"
#include "io/backend/ring.h"
#include "io/call/run.h"
#include "io/file/descriptor.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/runtime.h"
#include "wait/ufutex.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/*
 * Should the thread make the plain call at once? True if the call reports an
 * error or transfers no bytes, and for streams and files in /proc and the like.
 */
static bool is_plain(int fd, const struct iovec *iov, int nr, int64_t at)
{
	const int most = 1024; /* parts */

	return at < 0 || nr <= 0 || nr > most ||
	       wf_io_total(iov, (size_t)nr) == 0 ||
	       wf_descriptor_is_stream(fd) || wf_descriptor_is_kernels(fd);
}

/* --- waiting ------------------------------------------------------------- */

/* A worker makes the call, and makes it again if a handler ended it. */
static long have_made(struct wf_call *c)
{
	long n;

	do {
		n = wf_call_wait(c);
	} while (n == -EINTR);
	return n;
}

static long make_if_quick(int fd, struct wf_call *c)
{
	long n;

	do {
		n = wf_call_on(fd, c, false);
	} while (n == -EINTR);
	return n;
}

/* Makes the call by the ring as operation op, or by a worker. */
static long wait_for(int fd, uint8_t op, struct wf_call *c)
{
	struct wf_request r = {
		.op = op,
		.fd = fd,
		.addr = (uint64_t)c->args[1],
		.len = (uint32_t)c->args[2],
		.off = (uint64_t)c->args[3],
	};
	int n;

	if (wf_ring_is_refused())
		return have_made(c);
	do {
		n = wf_io_run(&r, WF_FOREVER);
	} while (n == -EINTR);
	return n == -ENOSYS ? have_made(c) : n;
}

/*
 * How long a copy of `bytes` from the page cache takes at most, in ns, if
 * nothing interrupts it.
 */
static int64_t copying_ns(size_t bytes)
{
	const int64_t call_ns = 20 * WF_NS_PER_US;
	const size_t bytes_per_ns = 4;

	return call_ns + (int64_t)(bytes / bytes_per_ns);
}

/* --- threads that wait for files alone ----------------------------------- */

/*
 * A thread that waits for a file again and again, and for nothing else in
 * between, is bound to a carrier. A worker costs two wakes and two kernel
 * switches more, half of what a quick disk takes. With --io process no thread
 * is bound: there the I/O servers are to make these calls.
 */
enum {
	WAITS_IN_A_ROW = 3,
	/* A thread that commits a change syncs a few times in a row, and then
	 * waits for something else. */
	SYNCS_IN_A_ROW = 32,
	SYNCS = 7, /* this kind of hint counts syncs, not waits for a file */
	WHAT_MASK = 0x1ffff,
};

/*
 * A value of struct wf_thread.hint. The count of the thread's waits is in it,
 * so any other wait in between makes the hint void.
 */
static uint32_t hint_of(uint32_t kind, uint32_t what)
{
	uint32_t generation = (uint32_t)wf_self->wait_generation & 0x3ff;

	return 1U << 31 | kind << 28 | generation << 18 | what << 1 | 1;
}

/*
 * The hint of a thread that has waited for this file the last nr times. No
 * other hint has the same value. It is odd, and no address of a semaphore is.
 * Its top bit is set, and no number of a descriptor is so large.
 */
static uint32_t wait_hint(int fd, uint32_t nr)
{
	return hint_of(nr, ((uint32_t)fd ^ wf_descriptor_generation(fd)) &
				   WHAT_MASK);
}

/* How often has the thread waited for fd, without any other wait in between? */
static uint32_t nr_of_waits(int fd)
{
	uint32_t hint = wf_self->hint, nr = hint >> 28 & 7;

	return hint == wait_hint(fd, nr) ? nr : 0;
}

/*
 * How often has the thread waited for syncs, without any other wait in between?
 */
static uint32_t nr_of_syncs(void)
{
	uint32_t hint = wf_self->hint, nr = hint >> 1 & WHAT_MASK;

	return hint == hint_of(SYNCS, nr) ? nr : 0;
}

static bool may_be_alone(void)
{
	return wf_options.io != WF_IO_PROCESS && wf_io_has_few_carriers();
}

static bool is_there_alone(uint32_t nr_waits)
{
	return nr_waits >= WAITS_IN_A_ROW && may_be_alone();
}

/* Notes a wait for fd, after nr_waits before it. */
static void count_wait(int fd, uint32_t nr_waits)
{
	if (nr_waits < WAITS_IN_A_ROW)
		nr_waits++;
	wf_self->hint = wait_hint(fd, nr_waits);
}

/*
 * Has a worker make the call, as have_made does. -ENOSYS: the thread is bound
 * now, and the caller makes the plain call.
 */
static long have_made_on(int fd, struct wf_call *c)
{
	uint32_t nr_waits = nr_of_waits(fd);
	long n;

	if (is_there_alone(nr_waits) && wf_io_bind(false))
		return -ENOSYS;
	n = have_made(c);
	if (c->ns > copying_ns(0))
		count_wait(fd, nr_waits);
	return n;
}

/* --- reading ------------------------------------------------------------- */

static bool is_cached(int fd, int64_t at, size_t bytes)
{
	const uint64_t range[2] = { (uint64_t)at, bytes };
	uint64_t pages[5] = { 0 }; /* [0]: pages in the cache */
	uint64_t nr = ((uint64_t)at % WF_PAGE + bytes + WF_PAGE - 1) / WF_PAGE;

	return wf_sys(SYS_cachestat, fd, range, pages, 0) == 0 &&
	       pages[0] == nr;
}

/*
 * Reads what RWF_NOWAIT cannot be used for: the file does not support it, or
 * the read is at the file's own position.
 */
static long read_unchecked(int fd, struct wf_call *c, int64_t at, size_t total)
{
	bool is_hit;

	if (!wf_descriptor_is_slow(fd, false))
		return make_if_quick(fd, c);
	is_hit = is_cached(fd, at, total);
	wf_descriptor_was_cached(fd, is_hit);
	return is_hit ? wf_call_make(c) : make_if_quick(fd, c);
}

/* Reads a slow file at its own position. */
static long read_slow(int fd, struct wf_call *c, size_t total)
{
	uint32_t nr_waits = nr_of_waits(fd);
	int64_t at = wf_sys(SYS_lseek, fd, 0L, SEEK_CUR);
	long n;

	if (is_there_alone(nr_waits) && !is_cached(fd, at, total) &&
	    wf_io_bind(false))
		return -ENOSYS;
	n = read_unchecked(fd, c, at, total);
	if (c->ns > c->quick_ns)
		count_wait(fd, nr_waits);
	return n;
}

/* Are the n bytes that have come all there are up to the end of the file? */
static bool is_all(int fd, const struct iovec *iov, int nr, int64_t at, long n,
		   size_t total)
{
	struct iovec rest;

	if (n <= 0 || (size_t)n == total)
		return true;
	/* If there are several parts, the request reads all of them once
	 * more. */
	if (nr > 1)
		return false;
	rest.iov_base = (char *)iov->iov_base + n;
	rest.iov_len = iov->iov_len - (size_t)n;
	return wf_sys(SYS_preadv2, fd, &rest, 1, at + n, 0L, RWF_NOWAIT) == 0;
}

long wf_io_preadv(int fd, const struct iovec *iov, int nr, int64_t at)
{
	struct wf_call *c = WF_CALL(SYS_preadv, fd, (long)iov, nr, at);
	size_t total;
	long n;

	if (is_plain(fd, iov, nr, at))
		return wf_call_make(c);
	total = wf_io_total(iov, (size_t)nr);
	if (wf_descriptor_is_direct(fd) || wf_descriptor_expects_wait(fd))
		return wait_for(fd, IORING_OP_READV, c);
	n = wf_io_try(SYS_preadv2, fd, iov, nr, at);
	if (n == -EOPNOTSUPP) {
		c->quick_ns = copying_ns(total);
		return read_unchecked(fd, c, at, total);
	}
	wf_descriptor_was_tried(fd, n == -EAGAIN);
	if (n != -EAGAIN && is_all(fd, iov, nr, at, n, total))
		return n;
	return wait_for(fd, IORING_OP_READV, c);
}

long wf_io_file_readv(int fd, const struct iovec *iov, int nr)
{
	struct wf_call *c = nr == 1 ? WF_CALL(SYS_read, fd, (long)iov->iov_base,
					      (long)iov->iov_len) :
				      WF_CALL(SYS_readv, fd, (long)iov, nr);
	size_t total;

	if (wf_descriptor_is_kernels(fd))
		return wf_call_make(c);
	if (wf_descriptor_is_direct(fd))
		return have_made_on(fd, c);
	if (nr <= 0)
		return make_if_quick(fd, c);
	total = wf_io_total(iov, (size_t)nr);
	c->quick_ns = copying_ns(total);
	return wf_descriptor_is_slow(fd, false) ? read_slow(fd, c, total) :
						  make_if_quick(fd, c);
}

/* --- writing ------------------------------------------------------------- */

long wf_io_file_writev(int fd, const struct iovec *iov, int nr)
{
	struct wf_call *c = nr == 1 ?
				    WF_CALL(SYS_write, fd, (long)iov->iov_base,
					    (long)iov->iov_len) :
				    WF_CALL(SYS_writev, fd, (long)iov, nr);

	if (wf_descriptor_is_kernels(fd))
		return wf_call_make(c);
	if (wf_descriptor_is_written_through(fd))
		return have_made_on(fd, c);
	if (nr > 0)
		c->quick_ns += copying_ns(wf_io_total(iov, (size_t)nr));
	return make_if_quick(fd, c);
}

/*
 * The thread's own history says whether to bind it. The last sync of the file
 * predicts the next one badly, since other threads dirty the file in between.
 * Quick syncs neither count nor end the row.
 */
long wf_io_sync(int fd, struct wf_call *c)
{
	uint32_t nr_syncs = nr_of_syncs();
	bool is_quick;
	long n;

	if (nr_syncs >= SYNCS_IN_A_ROW && may_be_alone() && wf_io_bind(false))
		return -ENOSYS;
	n = wf_descriptor_syncs_quickly(fd) ? wf_call_make(c) : wf_call_wait(c);
	if (n < 0)
		return n;
	is_quick = c->ns <= c->quick_ns;
	wf_descriptor_synced(fd, is_quick);
	if (!is_quick && nr_syncs < SYNCS_IN_A_ROW)
		nr_syncs++;
	if (nr_syncs > 0)
		wf_self->hint = hint_of(SYNCS, nr_syncs);
	return n;
}

/*
 * Does the write exceed RLIMIT_FSIZE? A ring would send SIGXFSZ to whichever
 * thread is running.
 */
static bool exceeds_limit(int64_t at, size_t total)
{
	struct rlimit limit;

	return wf_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0 ||
	       (uint64_t)at + total > limit.rlim_cur;
}

long wf_io_pwritev(int fd, const struct iovec *iov, int nr, int64_t at)
{
	struct wf_call *c = WF_CALL(SYS_pwritev, fd, (long)iov, nr, at);

	if (is_plain(fd, iov, nr, at))
		return wf_call_make(c);
	if (!wf_descriptor_is_written_through(fd))
		return make_if_quick(fd, c);
	return exceeds_limit(at, wf_io_total(iov, (size_t)nr)) ?
		       wf_call_make(c) :
		       wait_for(fd, IORING_OP_WRITEV, c);
}
