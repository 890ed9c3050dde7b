/* SPDX-License-Identifier: MIT */
/* Channels between processes: a peer ends, or writes false values. */
#include "channel.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/time.h>

static int fd_there, fd_back;

static void echo(void)
{
	struct weft_channel *in = channel_receiver(fd_there);
	struct weft_channel *out = channel_sender(fd_back);

	for (int i = 0; i < 2000; i++)
		channel_put(out, channel_get(in) + 1);
	CHECK_EQ(channel_get_error(in), EPIPE);
	CHECK_EQ(weft_channel_close(out), 0);
}

TEST(processes_talk)
{
	struct weft_channel *in, *out;
	pid_t child;

	fd_there = channel_make(8, 3, 0);
	fd_back = channel_make(8, 3, 0);
	child = child_start(echo);
	out = channel_sender(fd_there);
	in = channel_receiver(fd_back);
	for (long i = 0; i < 2000; i++) {
		channel_put(out, i);
		CHECK_EQ(channel_get(in), i + 1);
	}
	CHECK_EQ(weft_channel_close(out), 0);
	CHECK_EQ(channel_get_error(in), EPIPE);
	CHECK_EQ(child_wait(child), 0);
}

static void kill_self(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/*
 * Sends complete messages, then dies by SIGKILL while it writes the next one.
 */
static void die_sending(void)
{
	struct weft_channel *out = channel_sender(fd_there);
	void *room;

	for (long i = 0; i < 3; i++)
		channel_put(out, i);
	CHECK_EQ(weft_channel_reserve_until(out, &room, NULL), 0);
	memset(room, 0xff, 4);
	kill_self();
}

static void die_sending_to(uint32_t flags)
{
	struct weft_channel *in, *out;
	pid_t child;

	fd_there = channel_make(8, 7, flags);
	in = channel_receiver(fd_there);
	child = child_start(die_sending);
	for (long i = 0; i < 3; i++)
		CHECK_EQ(channel_get(in), i);
	CHECK_EQ(channel_get_error(in), EOWNERDEAD);
	CHECK_EQ(channel_get_error(in), EPIPE);
	CHECK_EQ(channel_get_error(in), EPIPE);
	CHECK(WIFSIGNALED(child_wait(child)));
	/* The next sender continues where the dead sender stopped. */
	out = channel_sender(fd_there);
	for (long i = 0; i < 30; i++) {
		channel_put(out, i);
		CHECK_EQ(channel_get(in), i);
	}
}

TEST(a_sender_is_killed)
{
	die_sending_to(0);
}

TEST(one_of_many_senders_is_killed)
{
	die_sending_to(WEFT_CHANNEL_MANY);
}

/* The messages behind a dead sender's reservation arrive. */
TEST(others_go_on_behind_a_dead_sender)
{
	struct weft_channel *in, *out;
	pid_t child;

	fd_there = channel_make(8, 7, WEFT_CHANNEL_MANY);
	in = channel_receiver(fd_there);
	out = channel_sender(fd_there);
	child = child_start(die_sending);
	CHECK(WIFSIGNALED(child_wait(child)));
	for (long i = 10; i < 13; i++)
		channel_put(out, i);
	for (long i = 0; i < 3; i++)
		CHECK_EQ(channel_get(in), i);
	for (long i = 10; i < 13; i++)
		CHECK_EQ(channel_get(in), i);
	CHECK_EQ(channel_get_error(in), EOWNERDEAD);
	channel_put(out, 13);
	CHECK_EQ(channel_get(in), 13);
}

/* The sender that takes a dead sender's number clears the dead one's slots. */
TEST(a_dead_sender_is_replaced_unnoticed)
{
	struct weft_channel *in, *out;
	pid_t child;

	fd_there = channel_make(8, 7, WEFT_CHANNEL_MANY);
	in = channel_receiver(fd_there);
	child = child_start(die_sending);
	CHECK(WIFSIGNALED(child_wait(child)));
	out = channel_sender(fd_there);
	channel_put(out, 3);
	for (long i = 0; i < 4; i++)
		CHECK_EQ(channel_get(in), i);
	CHECK_EQ(channel_get_error(in), EOWNERDEAD);
	channel_put(out, 4);
	CHECK_EQ(channel_get(in), 4);
}

static void exit_without_close(void)
{
	channel_put(channel_sender(fd_there), 1);
	exit(0);
}

TEST(to_exit_is_to_die)
{
	struct weft_channel *in;
	pid_t child;

	fd_there = channel_make(8, 3, 0);
	in = channel_receiver(fd_there);
	child = child_start(exit_without_close);
	CHECK_EQ(channel_get(in), 1);
	CHECK_EQ(channel_get_error(in), EOWNERDEAD);
	CHECK_EQ(child_wait(child), 0);
}

static void die_receiving(void)
{
	struct weft_channel *in = channel_receiver(fd_there);
	const void *message;
	size_t size;

	CHECK_EQ(channel_get(in), 0);
	CHECK_EQ(weft_channel_peek_until(in, &message, &size, NULL), 0);
	kill_self();
}

TEST(a_receiver_is_killed)
{
	struct weft_channel *in, *out;
	long value = 9;
	pid_t child;
	int rc;

	fd_there = channel_make(8, 3, 0);
	out = channel_sender(fd_there);
	channel_put(out, 0);
	channel_put(out, 1);
	child = child_start(die_receiving);
	CHECK(WIFSIGNALED(child_wait(child)));
	while ((rc = weft_channel_send(out, &value, 8)) == 0)
		;
	CHECK_EQ(rc, EOWNERDEAD);
	CHECK_EQ(weft_channel_try_send(out, &value, 8), EOWNERDEAD);
	/*
	 * The receiver read this message and died; its successor gets
	 * it.
	 */
	in = channel_receiver(fd_there);
	CHECK_EQ(channel_get(in), 1);
	CHECK_EQ(channel_get(in), 9);
	channel_put(out, 9);
}

/* A sender that never fills the queue sees the receiver's death, too. */
TEST(a_dead_receiver_is_noticed_without_waiting)
{
	struct weft_channel *out;
	long value = 9;
	pid_t child;
	int rc = 0;

	fd_there = channel_make(8, 1 << 14, 0);
	out = channel_sender(fd_there);
	channel_put(out, 0);
	channel_put(out, 1);
	child = child_start(die_receiving);
	CHECK(WIFSIGNALED(child_wait(child)));
	for (int i = 0; i < 1000 && rc == 0; i++) {
		sleep_ms(10);
		rc = weft_channel_send(out, &value, 8);
	}
	CHECK_EQ(rc, EOWNERDEAD);
}

TEST(a_polling_receiver_notices_death)
{
	struct weft_channel *in;
	size_t size;
	long value;
	pid_t child;
	int rc;

	fd_there = channel_make(8, 3, 0);
	in = channel_receiver(fd_there);
	child = child_start(exit_without_close);
	do
		rc = weft_channel_try_receive(in, &value, 8, &size);
	while (rc == EAGAIN || rc == 0);
	CHECK_EQ(rc, EOWNERDEAD);
	CHECK_EQ(child_wait(child), 0);
}

static char channel_name[64];

static void remove_channel(void)
{
	weft_channel_unlink(channel_name);
}

static void talk_by_name(void)
{
	struct weft_channel *out;

	CHECK_EQ(weft_channel_open_named(channel_name, WEFT_CHANNEL_SENDER,
					 &out),
		 0);
	channel_put(out, 77);
	CHECK_EQ(weft_channel_close(out), 0);
}

TEST(names)
{
	struct weft_channel_attr attr = { .message_size = 8, .messages = 3 };
	struct weft_channel *in;

	snprintf(channel_name, sizeof(channel_name), "/weft-test-%d",
		 (int)getpid());
	CHECK_EQ(weft_channel_open_named(channel_name, WEFT_CHANNEL_RECEIVER,
					 &in),
		 ENOENT);
	CHECK_EQ(weft_channel_create_named("/a/b", &attr), EINVAL);
	CHECK_EQ(weft_channel_create_named("/..", &attr), EINVAL);
	CHECK_EQ(weft_channel_create_named("/", &attr), EINVAL);
	CHECK_EQ(weft_channel_create_named(channel_name, &attr), 0);
	check_at_end(remove_channel);
	CHECK_EQ(weft_channel_create_named(channel_name, &attr), EEXIST);
	CHECK_EQ(weft_channel_open_named(channel_name, WEFT_CHANNEL_RECEIVER,
					 &in),
		 0);
	CHECK_EQ(child_exit_status(talk_by_name), 0);
	CHECK_EQ(weft_channel_unlink(channel_name), 0);
	CHECK_EQ(weft_channel_unlink(channel_name), ENOENT);
	CHECK_EQ(channel_get(in), 77);
	CHECK_EQ(channel_get_error(in), EPIPE);
}

static void on_alarm(int sig)
{
}

/* Signals end the kernel's allocation of the memory (before Linux 6.11). */
TEST(made_while_signals_come)
{
	struct weft_channel_attr attr = { .message_size = 1 << 16,
					  .messages = 250 };
	const struct itimerval often = { { 0, 200 }, { 0, 200 } };
	struct sigaction action = { .sa_handler = on_alarm };

	snprintf(channel_name, sizeof(channel_name), "/weft-test-%d",
		 (int)getpid());
	check_at_end(remove_channel);
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(weft_channel_create_named(channel_name, &attr), 0);
		CHECK_EQ(weft_channel_unlink(channel_name), 0);
	}
}

/*
 * Opens as another user. A process that changes its ids is not readable in
 * /proc, so it makes itself dumpable again.
 */
static void open_as_nobody(void)
{
	struct weft_channel *c;

	CHECK_EQ(setuid(65534), 0);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	CHECK_EQ(weft_channel_open(fd_there, WEFT_CHANNEL_SENDER, &c), EACCES);
	CHECK_EQ(weft_channel_open_named(channel_name, WEFT_CHANNEL_SENDER, &c),
		 EACCES);
	CHECK_EQ(weft_channel_open(fd_back, WEFT_CHANNEL_SENDER, &c), 0);
}

TEST(permissions_are_those_of_a_file)
{
	struct weft_channel_attr attr = { .message_size = 8,
					  .messages = 3,
					  .mode = 0600 };

	if (geteuid() != 0)
		SKIP("only root can become another user");
	snprintf(channel_name, sizeof(channel_name), "/weft-test-%d",
		 (int)getpid());
	CHECK_EQ(weft_channel_create(&attr, &fd_there), 0);
	CHECK_EQ(weft_channel_create_named(channel_name, &attr), 0);
	check_at_end(remove_channel);
	attr.mode = 0666;
	CHECK_EQ(weft_channel_create(&attr, &fd_back), 0);
	CHECK_EQ(child_exit_status(open_as_nobody), 0);
	CHECK_EQ(weft_channel_unlink(channel_name), 0);
}

TEST(the_memory_cannot_shrink)
{
	int fd = channel_make(8, 3, 0);

	CHECK_ERRNO(ftruncate(fd, 0), EPERM);
	CHECK_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* Copies a good channel into a file of another kind. */
static void copy(int from, int to, off_t bytes)
{
	static char buffer[1 << 16];

	CHECK(bytes <= (off_t)sizeof(buffer));
	CHECK_EQ(pread(from, buffer, (size_t)bytes, 0), bytes);
	CHECK_EQ(pwrite(to, buffer, (size_t)bytes, 0), bytes);
}

static int open_error(int fd)
{
	struct weft_channel *c;

	return weft_channel_open(fd, WEFT_CHANNEL_RECEIVER, &c);
}

TEST(other_files_are_refused)
{
	int good = channel_make(8, 3, 0), pipes[2], fd;
	struct stat st;
	FILE *file;

	CHECK_EQ(open_error(-1), EBADF);
	CHECK_EQ(open_error(1000), EBADF);
	CHECK_EQ(pipe(pipes), 0);
	CHECK_EQ(open_error(pipes[0]), EPROTO);
	CHECK_EQ(fstat(good, &st), 0);
	/* Without a seal the file's owner could cut it while it is mapped. */
	fd = memfd_create("unsealed", MFD_ALLOW_SEALING);
	copy(good, fd, st.st_size);
	CHECK_EQ(open_error(fd), EPROTO);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	CHECK_EQ(open_error(fd), 0);
	/* These files are sealed but too small, not writable, or empty. */
	fd = memfd_create("small", MFD_ALLOW_SEALING);
	copy(good, fd, st.st_size - 1);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	CHECK_EQ(open_error(fd), EPROTO);
	fd = memfd_create("constant", MFD_ALLOW_SEALING);
	copy(good, fd, st.st_size);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
	CHECK_EQ(open_error(fd), EPROTO);
	fd = memfd_create("empty", MFD_ALLOW_SEALING);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	CHECK_EQ(open_error(fd), EPROTO);
	file = tmpfile();
	CHECK(file != NULL);
	copy(good, fileno(file), st.st_size);
	CHECK_EQ(open_error(fileno(file)), EPROTO);
	CHECK_EQ(open_error(good), 0);
}

static void count_descriptors(int *ret_nr)
{
	*ret_nr = 0;
	for (int fd = 0; fd < 256; fd++)
		*ret_nr += fcntl(fd, F_GETFD) >= 0;
}

TEST(nothing_is_left_open)
{
	int before, after, fd;

	fd = channel_make(8, 3, WEFT_CHANNEL_MANY);
	CHECK_EQ(weft_channel_close(channel_sender(fd)), 0);
	count_descriptors(&before);
	for (int i = 0; i < 300; i++)
		CHECK_EQ(weft_channel_close(channel_sender(fd)), 0);
	CHECK_EQ(open_error(fd), 0);
	CHECK_EQ(open_error(fd), EBUSY);
	count_descriptors(&after);
	CHECK_EQ(after, before + 1);
}

/* Flips the first slot's word between free and claimed. */
static void flip(_Atomic uint64_t *word)
{
	for (;;) {
		*word = 1;
		*word = 0;
	}
}

TEST(deadlines_hold_against_a_slot_that_changes_all_the_time)
{
	int fd = channel_make(8, 3, WEFT_CHANNEL_MANY);
	struct weft_channel *in = channel_receiver(fd);
	_Atomic uint64_t *word;
	struct timespec soon;
	size_t size;
	long value;
	char *memory;

	channel_sender(fd);
	memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED);
	word = (_Atomic uint64_t *)(memory + 4096);
	/* The flipping process has CPUs of its own and never yields. */
	if (fork() == 0) {
		alarm(CHILD_LIMIT_S);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		flip(word);
	}
	while (*word == 0)
		sched_yield();
	soon = deadline_ms(CLOCK_MONOTONIC, 50);
	CHECK_EQ(weft_channel_receive_until(in, &value, 8, &size, &soon),
		 ETIMEDOUT);
	CHECK_EQ(weft_channel_try_receive(in, &value, 8, &size), EAGAIN);
}
