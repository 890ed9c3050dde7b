/* SPDX-License-Identifier: MIT */
/*
 * Each way out of a system call that waits. The call has taken nothing, and
 * writes to no frame that has been left. Signal actions, masks and descriptors
 * are as before, and other threads can make the same wait.
 */
#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>

#include "check.h"
#include "ways_out.h"

enum { PART = 8, ALL = 64 };

static int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		nr++;
	CHECK_EQ(closedir(dir), 0);
	return nr;
}

static void leave_by_most_ways(const struct way_wait *wait)
{
	int nr;

	have_threads();
	/* The first wait of a kind may open descriptors that stay open. */
	leave_by(BY_SIGLONGJMP, wait);
	nr = nr_descriptors();
	leave_by_all_ways(wait);
	leave_by_all_ways(wait);
	/* weft may have opened a few descriptors for itself. */
	CHECK(nr_descriptors() <= nr + 5);
}

/* --- system --------------------------------------------------------------- */

static void prepare_system(void)
{
	handle(SIGINT, on_signal, 0);
	CHECK(signal(SIGQUIT, SIG_DFL) != SIG_ERR);
	nr_handled = 0;
}

static void run_command(void)
{
	CHECK_EQ(system("exec sleep 1000"), 0);
}

static void check_system(void)
{
	struct sigaction action;
	int status;

	CHECK_EQ(sigaction(SIGINT, NULL, &action), 0);
	CHECK(action.sa_sigaction == on_signal);
	CHECK_EQ(sigaction(SIGQUIT, NULL, &action), 0);
	CHECK(action.sa_handler == SIG_DFL);
	CHECK_EQ(raise(SIGINT), 0);
	CHECK_EQ(nr_handled, 1);
	/* The command has been killed and reaped. */
	CHECK_ERRNO(waitpid(-1, &status, WNOHANG), ECHILD);
	status = system("exit 3");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* system blocks SIGCHLD, so these ways also have to restore the mask. */
TEST(system_restores_the_actions)
{
	static const enum way list[] = {
		BY_SIGLONGJMP,		 BY_JUMP_AFTER_A_WAIT,
		BY_JUMP_FROM_ALTSTACK,	 BY_CANCEL,
		BY_PTHREAD_EXIT,	 BY_ASYNC_CANCEL,
		BY_CANCEL_WITHOUT_TABLES
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		leave_by(list[i], &(struct way_wait){ .prepare = prepare_system,
						      .wait = run_command,
						      .check = check_system });
}

static sigjmp_buf alarm_env;

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	siglongjmp(alarm_env, 1);
}

/* A program may limit a command's time this way. */
TEST(system_left_on_an_alarm)
{
	have_threads();
	prepare_system();
	handle(SIGALRM, on_alarm, 0);
	if (sigsetjmp(alarm_env, 1) == 0) {
		ualarm(50000, 0);
		system("exec sleep 1000");
	}
	check_system();
}

/* --- files ---------------------------------------------------------------- */

static int fds[2];
static char buffer[ALL];

static void fill(char *part)
{
	memset(part, 'x', PART);
}

static void make_pipe(void)
{
	CHECK_EQ(pipe(fds), 0);
}

static void make_pair(void)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

static void close_both(void)
{
	CHECK_EQ(close(fds[0]), 0);
	CHECK_EQ(close(fds[1]), 0);
}

/* All later bytes go to the next reader. */
static void check_reading(void)
{
	memset(buffer, 0, sizeof(buffer));
	CHECK_EQ(write(fds[1], "12345678", PART), PART);
	CHECK_EQ(read(fds[0], buffer, ALL), PART);
	CHECK_EQ(memcmp(buffer, "12345678", PART), 0);
	close_both();
}

static void do_read(void)
{
	char part[PART];

	fill(part);
	(void)!read(fds[0], part, PART);
}

static void do_recv_all(void)
{
	char part[ALL];

	fill(part);
	(void)recv(fds[0], part, ALL, MSG_WAITALL);
}

TEST(read_takes_nothing)
{
	leave_by_most_ways(&(struct way_wait){ .prepare = make_pipe,
					       .wait = do_read,
					       .check = check_reading });
	leave_by_most_ways(&(struct way_wait){ .prepare = make_pair,
					       .wait = do_read,
					       .check = check_reading });
}

TEST(recv_of_all_takes_nothing)
{
	leave_by_most_ways(&(struct way_wait){ .prepare = make_pair,
					       .wait = do_recv_all,
					       .check = check_reading });
}

static char large[1 << 20];

/* If a part was written, only the next call may act on a cancellation. */
static void do_write(void)
{
	for (;;)
		(void)!write(fds[1], large, sizeof(large));
}

/* The written part is in the pipe; no later call writes the rest. */
static void check_writing(void)
{
	long nr = 0, n;

	CHECK_EQ(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	while ((n = read(fds[0], buffer, ALL)) > 0)
		nr += n;
	CHECK_EQ(errno, EAGAIN);
	CHECK(nr > 0 && nr < (long)sizeof(large));
	CHECK_EQ(write(fds[1], "1", 1), 1);
	CHECK_EQ(read(fds[0], buffer, ALL), 1);
	close_both();
}

TEST(write_goes_on_no_further)
{
	leave_by_most_ways(&(struct way_wait){ .prepare = make_pipe,
					       .wait = do_write,
					       .check = check_writing,
					       .is_no_fork = true });
	leave_by_most_ways(&(struct way_wait){ .prepare = make_pair,
					       .wait = do_write,
					       .check = check_writing,
					       .is_no_fork = true });
}

static void do_poll(void)
{
	struct pollfd p = { fds[0], POLLIN, 0 };

	poll(&p, 1, -1);
}

static void do_ppoll(void)
{
	struct pollfd p = { fds[0], POLLIN, 0 };
	sigset_t none;

	sigemptyset(&none);
	ppoll(&p, 1, NULL, &none);
}

static void do_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	select(fds[0] + 1, &set, NULL, NULL, NULL);
}

static void do_select_large(void)
{
	/* Some programs use sets that are longer than fd_set. */
	static fd_set sets[4];

	memset(sets, 0, sizeof(sets));
	((char *)sets)[fds[0] / 8] |= (char)(1 << fds[0] % 8);
	select(4000, sets, NULL, NULL, NULL);
}

static void do_pselect(void)
{
	sigset_t none;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	sigemptyset(&none);
	pselect(fds[0] + 1, &set, NULL, NULL, NULL, &none);
}

static void do_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = fds[1];

	epoll_wait(fd, &e, 1, -1);
}

static int nr_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	int c, nr = 0;

	CHECK(f != NULL);
	while ((c = getc(f)) != EOF)
		nr += c == '\n';
	CHECK_EQ(fclose(f), 0);
	return nr;
}

TEST(poll_and_select)
{
	static void (*const waits[])(void) = { do_poll, do_ppoll, do_select,
					       do_pselect, do_select_large };

	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		leave_by_most_ways(
			&(struct way_wait){ .prepare = make_pipe,
					    .wait = waits[i],
					    .check = check_reading });
}

TEST(calls_that_are_left_by_setcontext)
{
	static void (*const waits[])(void) = { do_poll, do_select_large,
					       do_read, do_recv_all };

	for (int i = 0; i < 4; i++)
		leave_by(BY_SETCONTEXT,
			 &(struct way_wait){ .prepare = make_pair,
					     .wait = waits[i],
					     .check = check_reading });
}

/* Copies of large sets must be freed. */
TEST(large_selects_keep_no_memory)
{
	const struct way_wait wait = { .prepare = make_pipe,
				       .wait = do_select_large,
				       .check = check_reading };
	int before;

	leave_by(BY_SIGLONGJMP, &wait);
	before = nr_mappings();
	for (int i = 0; i < 20; i++)
		leave_by(BY_SIGLONGJMP, &wait);
	CHECK(nr_mappings() < before + 15);
}

static void make_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN };

	make_pipe();
	CHECK_EQ(dup2(fds[0], 100), 100);
	CHECK_EQ(dup2(fds[1], 101), 101);
	close_both();
	fds[0] = 100;
	fds[1] = epoll_create1(0);
	CHECK(fds[1] >= 0);
	CHECK_EQ(epoll_ctl(fds[1], EPOLL_CTL_ADD, 100, &e), 0);
}

static void check_epoll(void)
{
	struct epoll_event e;

	CHECK_EQ(write(101, "1", 1), 1);
	CHECK_EQ(epoll_wait(fds[1], &e, 1, -1), 1);
	CHECK_EQ(close(101), 0);
	close_both();
}

TEST(epoll_takes_no_event)
{
	leave_by_most_ways(&(struct way_wait){ .prepare = make_epoll,
					       .wait = do_epoll,
					       .check = check_epoll });
}

/* The number is closed while the thread waits on its file. */
static void do_recv_of_closed(void)
{
	char part[ALL];

	(void)recv(fds[0], part, ALL, MSG_WAITALL);
}

TEST(file_that_was_closed_meanwhile)
{
	int nr = -1;

	have_threads();
	for (int i = 0; i < 12; i++) {
		static const enum way list[] = { BY_SIGLONGJMP, BY_PTHREAD_EXIT,
						 BY_CANCEL };
		pthread_t thread;
		char byte;

		ways.way = list[i % 3];
		ways.wait = &(struct way_wait){ 0 };
		make_pair();
		handle(SIGUSR1, way_handler, 0);
		is_ready = 0;
		ways.wait = &(struct way_wait){ .wait = do_recv_of_closed };
		thread = thread_start(way_thread, NULL);
		let_it_wait(&is_ready);
		CHECK_EQ(close(fds[0]), 0);
		if (ways.way == BY_CANCEL)
			CHECK_EQ(pthread_cancel(thread), 0);
		else
			CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
		/* weft must not hold the file any longer. */
		CHECK_EQ(read(fds[1], &byte, 1), 0);
		CHECK_EQ(close(fds[1]), 0);
		if (nr < 0)
			nr = nr_descriptors();
		CHECK(nr_descriptors() <= nr + 5);
	}
}

/* --- locks of files ------------------------------------------------------- */

static int lock_fds[2];

static void open_locked(void)
{
	char name[] = "/tmp/ways_calls_XXXXXX";

	lock_fds[0] = mkstemp(name);
	lock_fds[1] = open(name, O_RDWR);
	CHECK(lock_fds[0] >= 0 && lock_fds[1] >= 0);
	CHECK_EQ(unlink(name), 0);
	CHECK_EQ(flock(lock_fds[0], LOCK_EX), 0);
}

static void do_flock(void)
{
	flock(lock_fds[1], LOCK_EX);
}

/* A thread that has left the wait must not get the lock when it is free. */
static void check_flock(void)
{
	CHECK_EQ(flock(lock_fds[0], LOCK_UN), 0);
	CHECK_EQ(flock(lock_fds[0], LOCK_EX | LOCK_NB), 0);
	CHECK_EQ(close(lock_fds[0]), 0);
	CHECK_EQ(close(lock_fds[1]), 0);
}

static struct flock whole_file(int type)
{
	return (struct flock){ .l_type = (short)type, .l_whence = SEEK_SET };
}

static void open_record_locked(void)
{
	struct flock lock = whole_file(F_WRLCK);

	open_locked();
	CHECK_EQ(flock(lock_fds[0], LOCK_UN), 0);
	CHECK_EQ(fcntl(lock_fds[0], F_OFD_SETLK, &lock), 0);
}

static void do_fcntl_lock(void)
{
	struct flock lock = whole_file(F_WRLCK);

	fcntl(lock_fds[1], F_OFD_SETLKW, &lock);
}

static void check_fcntl_lock(void)
{
	struct flock lock = whole_file(F_UNLCK);

	CHECK_EQ(fcntl(lock_fds[0], F_OFD_SETLK, &lock), 0);
	lock.l_type = F_WRLCK;
	CHECK_EQ(fcntl(lock_fds[0], F_OFD_SETLK, &lock), 0);
	CHECK_EQ(close(lock_fds[0]), 0);
	CHECK_EQ(close(lock_fds[1]), 0);
}

TEST(locks_of_files)
{
	leave_by_most_ways(&(struct way_wait){ .prepare = open_locked,
					       .wait = do_flock,
					       .check = check_flock,
					       .is_no_cancel_point = true });
	leave_by_most_ways(&(struct way_wait){ .prepare = open_record_locked,
					       .wait = do_fcntl_lock,
					       .check = check_fcntl_lock });
}
