/* SPDX-License-Identifier: MIT */
/*
 * Signals that stop a process: SIGTSTP and its relatives, with their default
 * action and with others. The process is the test's own job. The two exchange
 * bytes; a job that stopped when it must not does not answer.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "signalling.h"
#include "threading.h"

enum { NR_PARKED = 3 };

static int to_job[2], from_job[2];
static pid_t job;

/* --- on both sides -------------------------------------------------------- */

static void write_byte(int fd, char byte)
{
	CHECK_EQ(write(fd, &byte, 1), 1);
}

static char read_byte(int fd)
{
	char byte;

	CHECK_EQ(read(fd, &byte, 1), 1);
	return byte;
}

/* --- in the job ----------------------------------------------------------- */

static void say(char what)
{
	write_byte(from_job[1], what);
}

static void hear(char what)
{
	CHECK_EQ(read_byte(to_job[0]), what);
}

static void change_mask(int how)
{
	const sigset_t set = set_of(SIGTSTP);

	CHECK_EQ(pthread_sigmask(how, &set, NULL), 0);
}

static bool is_pending(void)
{
	sigset_t set;

	CHECK_EQ(sigpending(&set), 0);
	return sigismember(&set, SIGTSTP) == 1;
}

static void park_some(void)
{
	pthread_t threads[NR_PARKED];

	threads_start(threads, NR_PARKED, thread_pause_for_ever, NULL);
}

/* Only the calling thread does not block the signal. */
static void park_some_blocking(void)
{
	change_mask(SIG_BLOCK);
	park_some();
	change_mask(SIG_UNBLOCK);
}

/* All threads block the signal; the test sends it now. */
static void see_it_pending(void)
{
	say('b');
	hear('s');
	CHECK(is_pending());
	say('p');
}

/* --- beside it ------------------------------------------------------------ */

static void (*body_of_job)(void);

static void run_job(void)
{
	body_of_job();
	hear('.');
}

static void job_start(void (*body)(void))
{
	body_of_job = body;
	CHECK_EQ(pipe(to_job), 0);
	CHECK_EQ(pipe(from_job), 0);
	job = child_start(run_job);
	CHECK(setpgid(job, job) == 0 || getpgid(job) == job);
}

static void tell(char what)
{
	write_byte(to_job[1], what);
}

static void expect(char what)
{
	CHECK_EQ(read_byte(from_job[0]), what);
}

static void send(int sig)
{
	CHECK_EQ(kill(job, sig), 0);
}

static void expect_stop(void)
{
	int status;

	CHECK_EQ(waitpid(job, &status, WUNTRACED), job);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(WSTOPSIG(status), SIGTSTP);
}

static void let_go_on(void)
{
	int status;

	send(SIGCONT);
	CHECK_EQ(waitpid(job, &status, WCONTINUED), job);
	CHECK(WIFCONTINUED(status));
}

/* Sends SIGTSTP, and the job sees that it is pending. */
static void send_while_blocked(void)
{
	expect('b');
	send(SIGTSTP);
	tell('s');
	expect('p');
}

static void forget_pending(void)
{
	send_while_blocked();
	send(SIGCONT);
	tell('c');
}

static void job_end(void)
{
	tell('.');
	CHECK_EQ(child_wait(job), 0);
}

/* --- the default ---------------------------------------------------------- */

enum { NR_AT_ONCE = 2000 };

static void answer_often(void)
{
	park_some();
	for (int i = 0; i <= NR_AT_ONCE; i++) {
		hear('a');
		say('a');
	}
}

TEST(stopped_and_continued_at_once)
{
	const int other[] = { SIGTTIN, SIGTTOU, SIGTSTP };

	job_start(answer_often);
	tell('a');
	expect('a');
	for (int i = 0; i < NR_AT_ONCE; i++) {
		send(SIGTSTP);
		send(other[i % 3]);
		send(SIGCONT);
		tell('a');
		expect('a');
	}
	job_end();
}

/* --- blocked -------------------------------------------------------------- */

enum { NR_ROUNDS = 50 };

static void block_and_open(void)
{
	park_some_blocking();
	for (int i = 0; i < NR_ROUNDS; i++) {
		change_mask(SIG_BLOCK);
		see_it_pending();
		hear('o');
		change_mask(SIG_UNBLOCK);
		CHECK(!is_pending());
	}
}

static void stop_pending(void)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		send_while_blocked();
		tell('o');
		expect_stop();
		let_go_on();
	}
}

TEST(stops_when_the_last_opens_it)
{
	job_start(block_and_open);
	stop_pending();
	job_end();
}

static void block_and_open_without_queue(void)
{
	const struct rlimit none = { 0, 0 };

	CHECK_EQ(setrlimit(RLIMIT_SIGPENDING, &none), 0);
	block_and_open();
}

TEST(stops_though_no_signal_can_be_queued)
{
	job_start(block_and_open_without_queue);
	stop_pending();
	job_end();
}

static void block_and_forget(void)
{
	park_some_blocking();
	change_mask(SIG_BLOCK);
	for (int i = 0; i < NR_ROUNDS; i++) {
		see_it_pending();
		hear('c');
		CHECK(!is_pending());
	}
	change_mask(SIG_UNBLOCK);
}

TEST(forgotten_after_sigcont)
{
	job_start(block_and_forget);
	for (int i = 0; i < NR_ROUNDS; i++) {
		forget_pending();
	}
	job_end();
}

static sem_t may_end;

static void *take_for_a_while(void *arg)
{
	change_mask(SIG_UNBLOCK);
	say('t');
	CHECK_EQ(sem_wait(&may_end), 0);
	return arg;
}

static void let_the_last_end(void)
{
	change_mask(SIG_BLOCK);
	CHECK_EQ(sem_init(&may_end, 0, 0), 0);
	park_some();
	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_t last = thread_start(take_for_a_while, NULL);

		hear('e');
		CHECK_EQ(sem_post(&may_end), 0);
		thread_join(last);
		see_it_pending();
		hear('c');
	}
}

TEST(pending_when_the_last_has_ended)
{
	job_start(let_the_last_end);
	for (int i = 0; i < NR_ROUNDS; i++) {
		expect('t');
		send(SIGTSTP);
		expect_stop();
		let_go_on();
		tell('e');
		forget_pending();
	}
	job_end();
}

static void wait_in_handler(int sig, siginfo_t *info, void *context)
{
	see_it_pending();
}

static void have_a_handler_block_it(void)
{
	struct sigaction action = { .sa_sigaction = wait_in_handler,
				    .sa_flags = SA_SIGINFO };

	sigaddset(&action.sa_mask, SIGTSTP);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	park_some_blocking();
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(raise(SIGUSR1), 0);
		CHECK(!is_pending());
	}
}

/* The job opens a pending signal without being told to. */
static void stop_after_all(void)
{
	send_while_blocked();
	expect_stop();
	let_go_on();
}

TEST(blocked_by_a_handler_of_another)
{
	job_start(have_a_handler_block_it);
	for (int i = 0; i < NR_ROUNDS; i++)
		stop_after_all();
	job_end();
}

static void nothing(int sig, siginfo_t *info, void *context)
{
}

static void suspend(void)
{
	sigset_t set;

	handle(SIGUSR1, nothing, 0);
	block(SIGUSR1);
	park_some_blocking();
	for (int i = 0; i < NR_ROUNDS; i++) {
		change_mask(SIG_BLOCK);
		see_it_pending();
		sigemptyset(&set);
		CHECK_ERRNO(sigsuspend(&set), EINTR);
		CHECK(!is_pending());
	}
}

TEST(stops_in_sigsuspend)
{
	job_start(suspend);
	for (int i = 0; i < NR_ROUNDS; i++) {
		stop_after_all();
		send(SIGUSR1);
	}
	job_end();
}

/* --- taken ---------------------------------------------------------------- */

static void wait_for_it(void)
{
	const sigset_t set = block(SIGTSTP);
	int sig;

	park_some();
	for (int i = 0; i < NR_ROUNDS; i++) {
		say('w');
		CHECK_EQ(sigwait(&set, &sig), 0);
		CHECK_EQ(sig, SIGTSTP);
	}
}

TEST(waited_for)
{
	job_start(wait_for_it);
	for (int i = 0; i < NR_ROUNDS; i++) {
		expect('w');
		send(SIGTSTP);
	}
	job_end();
}

static void say_so(int sig, siginfo_t *info, void *context)
{
	say('1');
}

static void handle_once(void)
{
	park_some();
	for (int i = 0; i < NR_ROUNDS; i++) {
		handle(SIGTSTP, say_so, SA_RESETHAND | SA_RESTART);
		say('h');
		hear('2');
	}
}

TEST(handled_once)
{
	job_start(handle_once);
	for (int i = 0; i < NR_ROUNDS; i++) {
		expect('h');
		send(SIGTSTP);
		expect('1');
		send(SIGTSTP);
		expect_stop();
		let_go_on();
		tell('2');
	}
	job_end();
}

static _Thread_local bool is_of_the_job;
static _Atomic bool is_over;

static void check_thread(int sig, siginfo_t *info, void *context)
{
	CHECK(is_of_the_job);
}

static void *park_known(void *arg)
{
	is_of_the_job = true;
	say('k');
	return thread_pause_for_ever(arg);
}

static void *stay_until_over(void *arg)
{
	is_of_the_job = true;
	say('k');
	hear('o');
	is_over = true;
	return arg;
}

static void change_actions(void)
{
	pthread_t threads[NR_PARKED], reader;

	is_of_the_job = true;
	threads_start(threads, NR_PARKED, park_known, NULL);
	reader = thread_start(stay_until_over, NULL);
	while (!is_over) {
		handle(SIGTSTP, check_thread, SA_RESTART);
		CHECK(signal(SIGTSTP, SIG_DFL) != SIG_ERR);
	}
	thread_join(reader);
}

/* The job may handle one signal and then have no handler for the next. */
static void end_what_may_stop(void)
{
	int status;

	tell('.');
	do {
		send(SIGCONT);
		CHECK_EQ(waitpid(job, &status, WUNTRACED), job);
	} while (WIFSTOPPED(status));
	CHECK_EQ(status, 0);
}

TEST(handlers_that_come_and_go)
{
	job_start(change_actions);
	for (int i = 0; i < NR_PARKED + 1; i++)
		expect('k');
	for (int i = 0; i < NR_AT_ONCE; i++) {
		send(SIGTSTP);
		send(SIGCONT);
	}
	tell('o');
	end_what_may_stop();
}
