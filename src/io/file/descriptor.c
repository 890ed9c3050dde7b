/* SPDX-License-Identifier: MIT */
/*
 * Each number below NR_KNOWN has a word with the facts that weft has learnt
 * about the number's file, as bits. The word also counts how often the facts
 * were forgotten, and the number's generation. To learn the kind of a file a
 * thread reads the word, asks the kernel, and stores the answer unless the
 * facts were forgotten meanwhile. Larger numbers have no word: weft asks the
 * kernel at each call.
 */
#include "io/file/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>

#include "base/atomic.h"
#include "os/clock.h"
#include "os/sys.h"
#include "wait/ufutex.h"

/* Numbers from here on have no word in the table. */
enum { NR_KNOWN = 1 << 16 };

enum {
	KNOWN_STREAM = 1 << 0,
	KNOWN_OTHER = 1 << 1,
	NO_RECEIVE_TIMEOUT = 1 << 2,
	NO_SEND_TIMEOUT = 1 << 3,
	SLOW = 1 << 4,
	QUICK = 1 << 5,
	KNOWN_STREAM_SOCKET = 1 << 6,
	DIRECT = 1 << 7,
	NO_READ_TO_BE_ASKED = 1 << 8,
	SYNCED = 1 << 9,
	KERNELS = 1 << 10,
	SURE = 1 << 11, /* QUICK, and not in doubt */
	NO_WRITE_TO_BE_ASKED = 1 << 12,
	HAS_ADDRESS = 1 << 13,
	HAS_NO_ADDRESS = 1 << 14,
	COUNTED = 1 << 15, /* no fact; keeps the word from 0, so closes count */
	SYNCS_QUICKLY = 1 << 16,
};

/*
 * The three parts of a word. The lowest 17 bits are the facts. The bits from
 * FORGOTTEN on count how often the facts were forgotten, so that no thread
 * stores a fact about an earlier file. The bits from USED on are the number's
 * generation. It changes when a close begins: at the end of the close the
 * number may already be another file's.
 */
#define FORGOTTEN ((uint64_t)1 << 17)
#define USED ((uint64_t)1 << 40)
#define EPOCH (USED - FORGOTTEN) /* mask of the count of forgets */
static _Atomic uint64_t known[NR_KNOWN];

/*
 * A count for each number. Of a stream it counts the reads in a row that had to
 * wait. After MANY_WAITS of them weft waits without a try, but still tries one
 * read in PROBE. Of a slow file it counts the reads in a row that found all
 * bytes in the page cache. After MANY_HITS of them the file is quick.
 */
enum { MANY_WAITS = 8, PROBE = 32, MANY_HITS = 32 };
static _Atomic uint8_t nr_in_a_row[NR_KNOWN];

/*
 * True once some socket has had a time limit. While it is false, weft asks the
 * kernel only once for the limit of a socket. One flag serves all sockets,
 * since several numbers may name one socket.
 */
static _Atomic bool has_limits;
static _Atomic bool has_marks; /* some socket has had a low-water mark */

static uint64_t known_of(int fd)
{
	return fd >= 0 && fd < NR_KNOWN ? wf_load_relaxed(&known[fd]) : 0;
}

bool wf_descriptor_counts_generations(int fd)
{
	return fd >= 0 && fd < NR_KNOWN;
}

uint32_t wf_descriptor_generation(int fd)
{
	return (uint32_t)(known_of(fd) / USED);
}

static uint32_t what_of(int fd)
{
	return (uint32_t)(known_of(fd) & (FORGOTTEN - 1));
}

static void remember(int fd, uint32_t bit)
{
	if (fd >= 0 && fd < NR_KNOWN)
		atomic_fetch_or_explicit(&known[fd], bit, memory_order_relaxed);
}

static bool is_same_file(uint64_t now, uint64_t before)
{
	return ((now ^ before) & EPOCH) == 0;
}

/* Stores facts, unless the file was forgotten since `before` was read. */
static void learn(int fd, uint64_t before, uint32_t bits)
{
	uint64_t now = known_of(fd);

	if (fd < 0 || fd >= NR_KNOWN)
		return;
	while (is_same_file(now, before) &&
	       !wf_cas_acq_rel(&known[fd], &now, now | bits))
		;
}

uint32_t wf_descriptor_count_generations(int fd)
{
	if (what_of(fd) == 0)
		remember(fd, COUNTED);
	return wf_descriptor_generation(fd);
}

bool wf_descriptor_is_slow(int fd, bool if_unknown)
{
	uint32_t what = what_of(fd) & (SLOW | QUICK);

	return what == 0 ? if_unknown : (what & SLOW) != 0;
}

static void set(int fd, uint32_t all, uint32_t bits)
{
	if (fd < 0 || fd >= NR_KNOWN || (what_of(fd) & all) == bits)
		return;
	atomic_fetch_and_explicit(&known[fd], ~(uint64_t)all,
				  memory_order_relaxed);
	remember(fd, bits);
}

void wf_descriptor_set_slow(int fd, bool is_slow)
{
	set(fd, SLOW | QUICK | SURE, is_slow ? SLOW : QUICK | SURE);
}

bool wf_descriptor_syncs_quickly(int fd)
{
	return (what_of(fd) & SYNCS_QUICKLY) != 0;
}

void wf_descriptor_synced(int fd, bool is_quick)
{
	set(fd, SYNCS_QUICKLY, is_quick ? SYNCS_QUICKLY : 0);
}

bool wf_descriptor_is_surely_quick(int fd)
{
	return (what_of(fd) & SURE) != 0;
}

void wf_descriptor_doubt(int fd)
{
	if (fd >= 0 && fd < NR_KNOWN)
		atomic_fetch_and_explicit(&known[fd], ~(uint64_t)SURE,
					  memory_order_relaxed);
}

void wf_descriptor_was_cached(int fd, bool is_hit)
{
	uint8_t nr;

	if (fd < 0 || fd >= NR_KNOWN)
		return;
	nr = is_hit ? wf_load_relaxed(&nr_in_a_row[fd]) + 1 : 0;
	if (nr >= MANY_HITS) {
		nr = 0;
		wf_descriptor_set_slow(fd, false);
	}
	wf_store_relaxed(&nr_in_a_row[fd], nr);
}

/*
 * Returns the word `now` without its facts. A word that had facts keeps
 * COUNTED, so that it is not 0 and later closes still count.
 */
static uint64_t forgotten(uint64_t now)
{
	return ((now + FORGOTTEN) & EPOCH) | (now & ~(USED - 1)) |
	       ((now & (FORGOTTEN - 1)) != 0 ? COUNTED : 0);
}

static void change(int fd, uint64_t more)
{
	uint64_t now = known_of(fd);

	if (fd < 0 || fd >= NR_KNOWN)
		return;
	/* The exchange is also a fence: later system calls that ask about the
	 * number get answers about its next file. */
	while (!wf_cas_acq_rel(&known[fd], &now, forgotten(now) + more))
		;
	wf_descriptor_was_tried(fd, false);
}

void wf_descriptor_generation_ends(int fd)
{
	change(fd, USED);
}

void wf_descriptor_forget(int fd)
{
	change(fd, 0);
}

static void change_all(unsigned int first, unsigned int last, uint64_t more)
{
	for (unsigned int fd = first; fd <= last && fd < NR_KNOWN; fd++)
		if (what_of((int)fd) != 0)
			change((int)fd, more);
}

void wf_descriptor_generations_end(unsigned int first, unsigned int last)
{
	change_all(first, last, USED);
}

void wf_descriptor_forget_all(unsigned int first, unsigned int last)
{
	change_all(first, last, 0);
}

bool wf_descriptor_expects_wait(int fd)
{
	uint8_t nr;

	if (fd < 0 || fd >= NR_KNOWN)
		return false;
	nr = wf_load_relaxed(&nr_in_a_row[fd]);
	if (nr < MANY_WAITS)
		return false;
	if (++nr == MANY_WAITS + PROBE)
		nr = MANY_WAITS;
	wf_store_relaxed(&nr_in_a_row[fd], nr);
	return nr != MANY_WAITS;
}

void wf_descriptor_was_tried(int fd, bool has_to_wait)
{
	uint8_t nr;

	if (fd < 0 || fd >= NR_KNOWN)
		return;
	nr = wf_load_relaxed(&nr_in_a_row[fd]);
	if (!has_to_wait && nr != 0)
		wf_store_relaxed(&nr_in_a_row[fd], 0);
	else if (has_to_wait && nr < MANY_WAITS)
		wf_store_relaxed(&nr_in_a_row[fd], nr + 1);
}

void wf_descriptor_limit_comes(void)
{
	wf_store_relaxed(&has_limits, true);
}

void wf_descriptor_mark_comes(void)
{
	wf_store_relaxed(&has_marks, true);
}

bool wf_descriptor_waits_for_more(int fd)
{
	return wf_load_relaxed(&has_marks) &&
	       wf_descriptor_option(fd, SO_RCVLOWAT, 1) > 1 &&
	       wf_descriptor_is_byte_stream(fd);
}

bool wf_descriptor_is_socket(int fd)
{
	struct stat st;

	return wf_sys(SYS_fstat, fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

bool wf_descriptor_is_device(int fd)
{
	struct stat st;

	/* If the kernel does not answer, fd may be a character device. */
	return wf_sys(SYS_fstat, fd, &st) < 0 || S_ISCHR(st.st_mode);
}

int wf_descriptor_option(int fd, int option, int if_none)
{
	int value = if_none;
	socklen_t bytes = sizeof(value);

	wf_sys(SYS_getsockopt, fd, SOL_SOCKET, option, &value, &bytes);
	return value;
}

bool wf_descriptor_queues_reports(int fd)
{
	enum { ZEROCOPY = 60, TIMESTAMPING = 37, TIMESTAMPING_NEW = 65 };
	int receives_errors = 0;
	socklen_t bytes = sizeof(receives_errors);

	wf_sys(SYS_getsockopt, fd, IPPROTO_IP, IP_RECVERR, &receives_errors,
	       &bytes);
	return receives_errors != 0 ||
	       wf_descriptor_option(fd, ZEROCOPY, 0) != 0 ||
	       wf_descriptor_option(fd, TIMESTAMPING, 0) != 0 ||
	       wf_descriptor_option(fd, TIMESTAMPING_NEW, 0) != 0;
}

bool wf_descriptor_is_byte_stream(int fd)
{
	return wf_descriptor_option(fd, SO_TYPE, 0) == SOCK_STREAM;
}

bool wf_descriptor_is_unix(int fd)
{
	return wf_descriptor_option(fd, SO_DOMAIN, AF_UNSPEC) == AF_UNIX;
}

static bool is_option_set(int fd, int option)
{
	return wf_descriptor_option(fd, option, 0) != 0;
}

bool wf_descriptor_reports_sender(int fd)
{
	enum { PASS_PIDFD = 76 }; /* SO_PASSPIDFD since Linux 6.5 */

	return is_option_set(fd, SO_PASSCRED) ||
	       is_option_set(fd, SO_PASSSEC) || is_option_set(fd, PASS_PIDFD);
}

static bool is_kernels(int fd)
{
	struct statfs fs;

	if (wf_sys(SYS_fstatfs, fd, &fs) < 0)
		return false;
	switch (fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
		return true;
	default:
		return false;
	}
}

static uint32_t mode_of(int fd)
{
	long flags = wf_sys(SYS_fcntl, fd, F_GETFL);
	uint32_t bits = is_kernels(fd) ? KERNELS : 0;

	if (flags >= 0 && (flags & O_DIRECT) != 0)
		bits |= DIRECT;
	if (flags >= 0 && (flags & O_DSYNC) != 0) /* O_SYNC has this bit, too */
		bits |= SYNCED;
	return bits;
}

bool wf_descriptor_is_stream(int fd)
{
	uint64_t what = known_of(fd);
	uint32_t bits;
	struct stat st;
	mode_t type;
	bool is_stream;
	long err;

	if ((what & (KNOWN_STREAM | KNOWN_OTHER)) != 0)
		return (what & KNOWN_STREAM) != 0;
	err = wf_sys(SYS_fstat, fd, &st);
	/* If a seccomp filter forbids fstat, fd counts as a stream: the calls
	 * for streams work on files, too. */
	if (err < 0)
		return err != -EBADF;
	type = st.st_mode & S_IFMT;
	is_stream = type != S_IFREG && type != S_IFBLK && type != S_IFDIR;
	bits = is_stream ? KNOWN_STREAM : KNOWN_OTHER | mode_of(fd);
	if (type == S_IFSOCK && wf_descriptor_is_byte_stream(fd))
		bits |= KNOWN_STREAM_SOCKET;
	learn(fd, what, bits);
	return is_stream;
}

bool wf_descriptor_is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t bytes = sizeof(peer);

	return wf_sys(SYS_getpeername, fd, &peer, &bytes) != -ENOTCONN;
}

static bool is_receiver(int fd)
{
	return is_option_set(fd, SO_ACCEPTCONN) ||
	       (wf_descriptor_option(fd, SO_TYPE, 0) == SOCK_DGRAM &&
		!wf_descriptor_is_connected(fd));
}

bool wf_descriptor_has_address(int fd)
{
	uint64_t what = known_of(fd);
	bool has_one;

	if (WF_LIKELY((what & (HAS_ADDRESS | HAS_NO_ADDRESS)) != 0))
		return (what & HAS_ADDRESS) != 0;
	if (fd < 0 || fd >= NR_KNOWN)
		return false;
	has_one = is_receiver(fd);
	learn(fd, what, has_one ? HAS_ADDRESS : HAS_NO_ADDRESS);
	return has_one;
}

bool wf_descriptor_is_direct(int fd)
{
	return !wf_descriptor_is_stream(fd) && (what_of(fd) & DIRECT) != 0;
}

bool wf_descriptor_is_written_through(int fd)
{
	return !wf_descriptor_is_stream(fd) &&
	       (what_of(fd) & (DIRECT | SYNCED)) != 0;
}

bool wf_descriptor_is_kernels(int fd)
{
	return !wf_descriptor_is_stream(fd) && (what_of(fd) & KERNELS) != 0;
}

bool wf_descriptor_can_be_asked(int fd, bool to_write)
{
	return (what_of(fd) &
		(to_write ? NO_WRITE_TO_BE_ASKED : NO_READ_TO_BE_ASKED)) == 0;
}

void wf_descriptor_cannot_be_asked(int fd, bool to_write)
{
	remember(fd, to_write ? NO_WRITE_TO_BE_ASKED : NO_READ_TO_BE_ASKED);
}

bool wf_descriptor_is_stream_socket(int fd)
{
	return wf_descriptor_is_stream(fd) &&
	       (what_of(fd) & KNOWN_STREAM_SOCKET) != 0;
}

bool wf_descriptor_is_nonblocking(int fd)
{
	long flags = wf_sys(SYS_fcntl, fd, F_GETFL);

	/* False if a seccomp filter forbids fcntl, or if the number is closed
	 * meanwhile. The thread may then wait: its request reports the
	 * error. */
	return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

int64_t wf_descriptor_deadline(int fd, int option)
{
	const int64_t most_s = INT64_MAX / 2 / WF_NS_PER_S;
	uint32_t bit = option == SO_RCVTIMEO ? NO_RECEIVE_TIMEOUT :
					       NO_SEND_TIMEOUT;
	struct timeval tv = { 0 };
	socklen_t bytes = sizeof(tv);

	if ((what_of(fd) & bit) != 0 && !wf_load_relaxed(&has_limits))
		return WF_FOREVER;
	if (wf_sys(SYS_getsockopt, fd, SOL_SOCKET, option, &tv, &bytes) < 0 ||
	    (tv.tv_sec == 0 && tv.tv_usec == 0)) {
		remember(fd, bit);
		return WF_FOREVER;
	}
	wf_descriptor_limit_comes();
	if (tv.tv_sec > most_s)
		return WF_FOREVER;
	return wf_os_now() + tv.tv_sec * WF_NS_PER_S +
	       tv.tv_usec * WF_NS_PER_US;
}
