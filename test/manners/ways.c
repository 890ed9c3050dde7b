/* SPDX-License-Identifier: MIT */
/*
 * A thread reads one kind of file, or opens it, between two marks in its system
 * calls:
 *
 *     ways KIND ready   data is there; the program prints a line before, and
 *                       waits until it is traced
 *     ways KIND waits   the data comes a little later
 *     ways KIND many    data is there, many times, without marks
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

enum { WARM = 3, MANY = 3000 };

struct kind {
	const char *name;
	void (*make)(void);
	void (*give)(void); /* writes something to read */
	ssize_t (*take)(void);
};

static int ends[2]; /* the read end, and its write end */
static char folder[] = "/var/tmp/weft-ways-XXXXXX";
static char path[64], block[512] __attribute__((aligned(512)));
static const struct kind *kind;

static void check(int is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

/* --- kinds --------------------------------------------------------------- */

static void give_bytes(void)
{
	check(write(ends[1], "12345678\n", 8) == 8, "write");
}

static ssize_t take_bytes(void)
{
	return read(ends[0], block, 8);
}

static void make_pipe(void)
{
	check(pipe(ends) == 0, "pipe");
}

static void make_socket(void)
{
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
}

static void make_datagrams(void)
{
	check(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "socketpair");
}

static ssize_t take_datagram(void)
{
	return recv(ends[0], block, sizeof(block), 0);
}

static void make_event(void)
{
	ends[0] = ends[1] = eventfd(0, 0);
}

static void give_event(void)
{
	check(eventfd_write(ends[1], 1) == 0, "eventfd_write");
}

static void make_fifo(void)
{
	check(mkdtemp(folder) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/fifo", folder);
	check(mkfifo(path, 0600) == 0, "mkfifo");
	ends[0] = open(path, O_RDWR);
	ends[1] = open(path, O_RDWR);
	unlink(path);
	rmdir(folder);
}

static void make_terminal(void)
{
	struct termios mode;

	ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
	check(ends[1] >= 0 && grantpt(ends[1]) == 0 && unlockpt(ends[1]) == 0,
	      "posix_openpt");
	ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY);
	check(tcgetattr(ends[0], &mode) == 0, "tcgetattr");
	mode.c_lflag &= (tcflag_t) ~(ECHO | ICANON);
	check(tcsetattr(ends[0], TCSANOW, &mode) == 0, "tcsetattr");
}

static void make_inotify(void)
{
	check(mkdtemp(folder) != NULL, "mkdtemp");
	ends[0] = inotify_init1(0);
	check(inotify_add_watch(ends[0], folder, IN_ATTRIB) >= 0,
	      "inotify_add_watch");
}

static void give_change(void)
{
	check(chmod(folder, 0700) == 0, "chmod");
}

static ssize_t take_change(void)
{
	return read(ends[0], block, sizeof(block));
}

static void give_nothing(void)
{
}

static void make_file(void)
{
	ends[0] = mkstemp(folder);
	check(ends[0] >= 0 && unlink(folder) == 0, "mkstemp");
	for (int i = 0; i < 2 * MANY; i++)
		check(write(ends[0], "12345678", 8) == 8, "write");
	check(lseek(ends[0], 0, SEEK_SET) == 0, "lseek");
}

static ssize_t take_at_place(void)
{
	return pread(ends[0], block, 8, 8);
}

enum { COLD_PAGE = 4096, COLD_READS = 100 };
static char cold[COLD_PAGE];
static off_t cold_at;

/* Makes a file of which no page is cached, and none is read ahead. */
static void make_cold_file(void)
{
	const size_t bytes = (size_t)COLD_PAGE * COLD_READS * (WARM + 1);
	unsigned char is_cached;
	void *first;

	ends[0] = mkstemp(folder);
	check(ends[0] >= 0 && unlink(folder) == 0, "mkstemp");
	memset(cold, 'x', sizeof(cold));
	for (size_t at = 0; at < bytes; at += sizeof(cold))
		check(write(ends[0], cold, sizeof(cold)) == sizeof(cold),
		      "write");
	check(fsync(ends[0]) == 0, "fsync");
	posix_fadvise(ends[0], 0, 0, POSIX_FADV_RANDOM);
	posix_fadvise(ends[0], 0, 0, POSIX_FADV_DONTNEED);
	first = mmap(NULL, COLD_PAGE, PROT_READ, MAP_SHARED, ends[0], 0);
	check(mincore(first, COLD_PAGE, &is_cached) == 0, "mincore");
	errno = ENOTSUP;
	check((is_cached & 1) == 0, "eviction from the page cache");
}

/* Each of these reads waits for the disk. */
static ssize_t take_cold(void)
{
	ssize_t n = 1;

	for (int i = 0; i < COLD_READS && n == 1; i++) {
		n = pread(ends[0], block, 1, cold_at);
		cold_at += COLD_PAGE;
	}
	return n;
}

static void make_memory_file(void)
{
	strcpy(folder, "/dev/shm/weft-XXXXXX");
	make_file();
}

static void make_status(void)
{
	ends[0] = open("/proc/self/status", O_RDONLY);
}

static void give_status(void)
{
	check(lseek(ends[0], 0, SEEK_SET) == 0, "lseek");
}

/* --- many ----------------------------------------------------------------- */

enum { NR_IDLE = 20, IDLE_POLLS = 10 };

static struct pollfd crowd[NR_IDLE + 1]; /* the last is ends[0] */

static void make_crowd(void)
{
	int idle[2];

	for (int i = 0; i < NR_IDLE; i++) {
		check(pipe(idle) == 0, "pipe");
		crowd[i] = (struct pollfd){ idle[0], POLLIN, 0 };
	}
	make_pipe();
	crowd[NR_IDLE] = (struct pollfd){ ends[0], POLLIN, 0 };
}

/* After the first polls weft knows that this descriptor is polled often. */
static ssize_t take_of_crowd(void)
{
	static int nr_idle;

	for (; nr_idle < IDLE_POLLS; nr_idle++)
		check(poll(crowd, NR_IDLE, 1) == 0, "poll");
	check(poll(crowd, NR_IDLE + 1, -1) == 1, "poll");
	return take_bytes();
}

/* --- opens ---------------------------------------------------------------- */

static void make_path(void)
{
	make_file();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
}

static ssize_t open_and_close(void)
{
	int fd = open(path, O_RDONLY);

	check(fd >= 0, "open");
	return close(fd) == 0;
}

static void *meet(void *arg)
{
	open_and_close();
	return arg;
}

/*
 * A system call of its own, so the trace distinguishes it from the waiting
 * open.
 */
static void open_both_sides(void)
{
	ends[1] = (int)syscall(SYS_open, path, O_RDWR | O_NONBLOCK);
	check(ends[1] >= 0, "open");
}

static ssize_t open_and_close_all(void)
{
	return open_and_close() && close(ends[1]) == 0;
}

/* The FIFO must have made a thread wait once. */
static void make_met_fifo(void)
{
	pthread_t thread;

	check(mkdtemp(folder) != NULL, "mkdtemp");
	snprintf(path, sizeof(path), "%s/fifo", folder);
	check(mkfifo(path, 0600) == 0, "mkfifo");
	pthread_create(&thread, NULL, meet, NULL);
	usleep(100000);
	open_both_sides();
	pthread_join(thread, NULL);
	close(ends[1]);
}

/* A file is sent to a socket that has room for it. */
static int sent;

static void make_sent(void)
{
	make_file();
	sent = ends[0];
	make_socket();
}

static ssize_t send_file(void)
{
	off_t begin = 0;

	return sendfile(ends[1], sent, &begin, 8);
}

static void take_sent(void)
{
	while (recv(ends[0], block, sizeof(block), MSG_DONTWAIT) > 0)
		continue;
}

static const struct kind kinds[] = {
	{ "pipe", make_pipe, give_bytes, take_bytes },
	{ "socket", make_socket, give_bytes, take_bytes },
	{ "datagrams", make_datagrams, give_bytes, take_datagram },
	{ "eventfd", make_event, give_event, take_bytes },
	{ "fifo", make_fifo, give_bytes, take_bytes },
	{ "terminal", make_terminal, give_bytes, take_bytes },
	{ "inotify", make_inotify, give_change, take_change },
	{ "file", make_file, give_nothing, take_bytes },
	{ "place", make_file, give_nothing, take_at_place },
	{ "cold", make_cold_file, give_nothing, take_cold },
	{ "memory", make_memory_file, give_nothing, take_bytes },
	{ "crowd", make_crowd, give_bytes, take_of_crowd },
	{ "sending", make_sent, take_sent, send_file },
	{ "proc", make_status, give_status, take_bytes },
	{ "open", make_path, give_nothing, open_and_close },
	{ "meeting", make_met_fifo, open_both_sides, open_and_close_all },
};

/* --- reading ------------------------------------------------------------- */

static void mark(const char *what)
{
	syscall(SYS_access, what, F_OK);
}

static void take_now(void)
{
	kind->give();
	check(kind->take() > 0, "take");
}

static void *give_later(void *arg)
{
	usleep(50000);
	kind->give();
	return arg;
}

/*
 * Returns when the tracer has stopped all threads: the test then writes a byte.
 */
static void await_tracer(void)
{
	char byte;

	puts("ready");
	fflush(stdout);
	check(read(STDIN_FILENO, &byte, 1) == 1, "the tracer's byte");
}

static void *read_marked(void *waits)
{
	pthread_t giver;

	for (int i = 0; i < WARM; i++)
		take_now();
	if (waits != NULL) {
		pthread_create(&giver, NULL, give_later, NULL);
	} else {
		kind->give();
		await_tracer();
	}
	mark("begin");
	check(kind->take() > 0, "take");
	mark("end");
	if (waits != NULL)
		pthread_join(giver, NULL);
	return NULL;
}

static void *read_many(void *arg)
{
	for (int i = 0; i < MANY; i++)
		take_now();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (argc == 3 && strcmp(argv[1], kinds[i].name) == 0)
			kind = &kinds[i];
	}
	if (kind == NULL)
		return 2;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	kind->make();
	if (strcmp(argv[2], "many") == 0)
		pthread_create(&thread, NULL, read_many, NULL);
	else
		pthread_create(&thread, NULL, read_marked,
			       strcmp(argv[2], "waits") == 0 ? argv : NULL);
	pthread_join(thread, NULL);
	unlink(path);
	rmdir(folder);
	return 0;
}
