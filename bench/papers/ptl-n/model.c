/* SPDX-License-Identifier: MIT */
/*
 * PTL-N as its paper has it, in small: a process with two user-level threads,
 * of which one reads or writes and the other spins, and an I/O server in a
 * process of its own. The first thread has no stack of its own. When a request
 * completes, a signal interrupts the spinning thread, and the signal's handler
 * takes the first thread's next step on the stack of the spinning thread.
 *
 *     bench_ptl_n_model share|copy ask|tell|timer|socket NICE
 *                       FILE MIB UNIT_KIB read|write hit|miss spin|alone
 *
 * share: the server has the same address space; copy: blocks go through shared
 * memory. ask: the requester checks for completion before it waits, and the
 * server signals only a requester that waits (YET, WAIT, COMPLETE). tell: the
 * server sends a signal for each completion. In the other two ways the
 * requester also checks before it waits. timer: a waiting requester checks
 * again at each tick of a 10 ms timer, and the server sends nothing. socket:
 * the server sends a byte, and the kernel signals that the socket can be read.
 * NICE is added to the first process's nice value. Prints the number of
 * notices, too.
 *
 * MODEL-1. A request is the server's from the store of `asked` until the
 *     exchange of `status`.
 * MODEL-2. Steps are taken with the signal blocked.
 * MODEL-3. A tick may come before a request is complete, and the signal of a
 *     socket once more for a byte that has been read.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "io.h"

enum status { YET, WAIT, COMPLETE };
enum { MODEL_ARGS = 3, STACK = 1 << 16, TICK_US = 10000 };

/* How the requester learns of a completion, and the signal that runs it. */
static const struct way {
	const char *name;
	int signal;
} ways[] = {
	{ "ask", SIGUSR1 },
	{ "tell", SIGUSR1 },
	{ "timer", SIGALRM },
	{ "socket", SIGIO },
};
enum way_nr { ASK, TELL, TIMER, SOCKET, NR_WAYS };

/* A channel lies in memory that both processes share. */
struct channel {
	_Atomic unsigned int asked; /* requests; the server sleeps on it */
	_Atomic unsigned int status;
	unsigned long nr_notices;
	char block[]; /* used if blocks are copied */
};

static struct experiment e;
static struct channel *channel;
static bool copies;
static enum way_nr way;
static int sockets[2]; /* the server's end and the first process's end */
static char *buffer;
static pid_t main_pid;
static double step_us;

/* --- the server ---------------------------------------------------------- */

static void notify(void)
{
	channel->nr_notices++;
	if (way != SOCKET)
		kill(main_pid, ways[way].signal);
	else if (write(sockets[0], "", 1) != 1)
		die("socket");
}

static int serve(void *arg)
{
	unsigned int nr = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		while (channel->asked == nr)
			syscall(SYS_futex, &channel->asked, FUTEX_WAIT, nr,
				NULL, NULL, 0);
		nr++;
		io_unit(&e, copies ? channel->block : buffer);
		if (atomic_exchange(&channel->status, COMPLETE) == WAIT &&
		    way != TIMER)
			notify();
	}
	return 0;
}

static enum way_nr way_of(const char *name)
{
	for (int nr = 0; nr < NR_WAYS; nr++) {
		if (strcmp(ways[nr].name, name) == 0)
			return (enum way_nr)nr;
	}
	fprintf(stderr, "model: no way is called %s\n", name);
	exit(2);
}

static void start_server(void)
{
	int flags = copies ? 0 : CLONE_VM;
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED ||
	    clone(serve, (char *)stack + STACK,
		  flags | CLONE_FILES | CLONE_FS | SIGCHLD, NULL) < 0)
		die("server");
}

/* --- the thread that reads or writes ------------------------------------- */

static void ask(void)
{
	if (copies && e.writes)
		memcpy(channel->block, buffer, e.unit);
	channel->status = way == TELL ? WAIT : YET;
	channel->asked++; /* MODEL-1 */
	syscall(SYS_futex, &channel->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
	sched_yield(); /* lets it do its immediate work first */
}

/*
 * Returns whether the last request has ended. If not, a notice or a tick
 * follows.
 */
static bool is_complete(void)
{
	unsigned int yet = YET;

	return way != TELL &&
	       !atomic_compare_exchange_strong(&channel->status, &yet, WAIT);
}

static void take(void)
{
	if (copies && !e.writes)
		memcpy(buffer, channel->block, e.unit);
	e.done += e.unit;
}

static void go_on(void)
{
	double start = us_of(CLOCK_THREAD_CPUTIME_ID);

	while (e.done < e.total) {
		ask();
		if (!is_complete())
			break;
		take();
	}
	step_us += us_of(CLOCK_THREAD_CPUTIME_ID) - start;
}

/*
 * MODEL-3. Is the signal for the request, or did it come too early or too late?
 */
static bool is_for_request(void)
{
	char byte;

	if (way == SOCKET)
		return read(sockets[1], &byte, 1) == 1;
	if (way == TIMER && channel->status == COMPLETE)
		channel->nr_notices++;
	return channel->status == COMPLETE;
}

static void on_notice(int sig)
{
	if (e.done >= e.total || !is_for_request())
		return;
	take(); /* MODEL-2: the kernel blocks it here */
	go_on();
}

/* --- both ---------------------------------------------------------------- */

static void make_socket(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0 ||
	    fcntl(sockets[1], F_SETOWN, getpid()) < 0 ||
	    fcntl(sockets[1], F_SETFL, O_NONBLOCK | O_ASYNC) < 0)
		die("socket");
}

static void start_ticks(void)
{
	const struct itimerval tick = { { 0, TICK_US }, { 0, TICK_US } };

	if (way == TIMER && setitimer(ITIMER_REAL, &tick, NULL) < 0)
		die("timer");
}

static void run(void)
{
	struct sigaction action = { .sa_handler = on_notice };
	sigset_t notice, before;

	sigaction(ways[way].signal, &action, NULL);
	sigemptyset(&notice);
	sigaddset(&notice, ways[way].signal);
	start_ticks();
	sigprocmask(SIG_BLOCK, &notice, &before);
	go_on();
	while (!e.spins && e.done < e.total)
		sigsuspend(&before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	while (e.done < e.total)
		;
}

int main(int argc, char **argv)
{
	double start, cpu_us;

	if (argc != 1 + MODEL_ARGS + NR_EXPERIMENT_ARGS) {
		fprintf(stderr,
			"usage: model share|copy "
			"ask|tell|timer|socket NICE " EXPERIMENT_ARGS "\n");
		return 2;
	}
	copies = strcmp(argv[1], "copy") == 0;
	way = way_of(argv[2]);
	e = experiment_of(argv + 1 + MODEL_ARGS);
	buffer = new_buffer(e.unit);
	main_pid = getpid();
	channel = mmap(NULL, sizeof(*channel) + e.unit, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (channel == MAP_FAILED)
		die("channel");
	make_socket();
	start_server();
	if (setpriority(PRIO_PROCESS, 0, atoi(argv[3])) < 0)
		die("nice");
	cpu_us = us_of(CLOCK_PROCESS_CPUTIME_ID);
	start = us_of(CLOCK_MONOTONIC);
	run();
	start = us_of(CLOCK_MONOTONIC) - start;
	cpu_us = us_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_us;
	print_result(start, e.spins ? cpu_us - step_us : 0, cpu_us);
	printf("notices %lu\n", channel->nr_notices);
	return 0;
}
