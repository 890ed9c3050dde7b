/* SPDX-License-Identifier: MIT */
/*
 * Interrupts small sections of a program at each of their instructions.
 *
 * usage: step [-s SIGNAL] [-n POSITIONS] COMMAND [ARGS...]
 *
 * The command, in the end, runs a program with marks (step.h). Without -s it
 * only answers the marks. With it, each section is run thrice to count its
 * instructions. Then it is run again and again. The kernel thread makes k
 * single steps from the section's beginning and then gets the signal. k grows
 * from 0 until the section always ends before that, in strides if it has more
 * than POSITIONS.
 *
 * Between a section's beginning and the injection the thread gets none of
 * those signals from others. A section begins only when one of them has been
 * held back: its sender wants the thread interrupted.
 *
 * Status: the command's own; 1 if it was killed or hangs; 77 where tracing
 * is forbidden.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "step.h"

enum {
	STATUS_SKIP = 77,
	NR_CONTROL_PASSES = 20,
	/*
	 * The shortest count is right: the first pass meets the loader, others
	 * a wait.
	 */
	NR_COUNTING_PASSES = 3,
	/*
	 * A section takes more instructions if it has to wait for other
	 * threads.
	 */
	MAX_MISSES = 10,
	/* A section this long waits for an effect of the signal. */
	MAX_STEPS = 20000,
	PASS_LIMIT_S = 30,
	/* Each takes a few microseconds. */
	MAX_WAITS = 2000,
	TRACE_OPTIONS = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
			PTRACE_O_EXITKILL,
};

static int injected_signal;
static long max_positions = 1000;
static pid_t leader;

/* The current pass. */
static struct {
	long section;
	long length; /* instructions, when it was counted */
	long stride;
	long position;	/* steps before the injection; -1: none */
	long nr_steps;	/* made so far */
	long nr_waits;	/* answers of "not yet" */
	pid_t stepped;	/* thread between beginning and injection, or 0 */
	pid_t held_for; /* a signal was held back for it, or 0 */
	pid_t waiting;	/* thread at the beginning, or 0 */
	bool is_hit;	/* the signal was injected */
	long nr_misses; /* passes in a row that ended before their position */
	long nr_passes, nr_injected;
} pass = { .section = -1 };

static void resume(int how, pid_t tid, int sig)
{
	/* Another thread may have ended the process meanwhile. */
	if (ptrace(how, tid, NULL, (void *)(long)sig) < 0 && errno != ESRCH) {
		perror("step: ptrace");
		exit(1);
	}
}

static void answer(pid_t tid, long value)
{
	if (ptrace(PTRACE_POKEUSER, tid,
		   (void *)offsetof(struct user_regs_struct, rax),
		   (void *)value) < 0)
		perror("step: answer");
}

static long argument(pid_t tid, size_t offset)
{
	return ptrace(PTRACE_PEEKUSER, tid, (void *)offset, NULL);
}

/* --- a pass ------------------------------------------------------------- */

static void report(void)
{
	if (pass.section >= 0)
		fprintf(stderr,
			"step: section %ld: %ld instructions, %ld passes, "
			"%ld injections\n",
			pass.section, pass.length, pass.nr_passes,
			pass.nr_injected);
}

static void new_section(long section)
{
	report();
	memset(&pass, 0, sizeof(pass));
	pass.section = section;
	pass.position = -1;
}

static void inject(pid_t tid)
{
	pass.stepped = 0;
	pass.held_for = 0;
	pass.nr_injected++;
	resume(PTRACE_CONT, tid, injected_signal);
}

static void begin_pass(pid_t tid, long section)
{
	if (section != pass.section)
		new_section(section);
	if (injected_signal != 0 && pass.held_for != tid &&
	    pass.nr_waits < MAX_WAITS) {
		pass.waiting = tid;
		pass.nr_waits++;
		answer(tid, 0);
		resume(PTRACE_CONT, tid, 0);
		return;
	}
	alarm(PASS_LIMIT_S);
	pass.waiting = 0;
	pass.nr_waits = 0;
	pass.nr_steps = 0;
	pass.is_hit = false;
	answer(tid, 1);
	if (injected_signal == 0) {
		resume(PTRACE_CONT, tid, 0);
	} else if (pass.position == 0) {
		pass.is_hit = true;
		inject(tid);
	} else {
		pass.stepped = tid;
		resume(PTRACE_SINGLESTEP, tid, 0);
	}
}

/* Returns whether the section has another position to test. */
static bool next_position(void)
{
	pass.nr_passes++;
	if (injected_signal == 0)
		return pass.nr_passes < NR_CONTROL_PASSES;
	if (pass.nr_passes <= NR_COUNTING_PASSES) {
		if (pass.nr_passes == 1 || pass.nr_steps < pass.length)
			pass.length = pass.nr_steps;
		pass.stride = pass.length / max_positions + 1;
		if (pass.nr_passes == NR_COUNTING_PASSES)
			pass.position = 0;
		return true;
	}
	pass.position += pass.stride;
	pass.nr_misses = pass.is_hit ? 0 : pass.nr_misses + 1;
	return pass.nr_misses < MAX_MISSES && pass.position < MAX_STEPS &&
	       pass.position <= 4 * pass.length;
}

static void end_pass(pid_t tid)
{
	int held = pass.held_for == tid ? injected_signal : 0;

	pass.stepped = 0;
	pass.held_for = 0;
	answer(tid, next_position());
	resume(PTRACE_CONT, tid, held);
}

static void step(pid_t tid)
{
	if (tid != pass.stepped) {
		resume(PTRACE_CONT, tid, 0);
	} else if (++pass.nr_steps == pass.position) {
		pass.is_hit = true;
		inject(tid);
	} else if (pass.nr_steps < MAX_STEPS) {
		resume(PTRACE_SINGLESTEP, tid, 0);
	} else {
		inject(tid);
	}
}

/* --- what a thread stopped for ------------------------------------------ */

static void on_trap(pid_t tid)
{
	siginfo_t info;
	long kind;

	if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0)
		return;
	if (info.si_code != SI_KERNEL) {
		step(tid);
		return;
	}
	kind = argument(tid, offsetof(struct user_regs_struct, rdi));
	if (kind == STEP_BEGIN)
		begin_pass(tid, argument(tid, offsetof(struct user_regs_struct,
						       rsi)));
	else
		end_pass(tid);
}

static void on_signal(pid_t tid, int sig)
{
	bool is_stepped = tid == pass.stepped;

	if (sig == injected_signal && (is_stepped || tid == pass.waiting)) {
		pass.held_for = tid;
		sig = 0;
	}
	resume(is_stepped ? PTRACE_SINGLESTEP : PTRACE_CONT, tid, sig);
}

static void on_stop(pid_t tid, int status)
{
	int sig = WSTOPSIG(status);

	if (status >> 16 != 0)
		resume(PTRACE_CONT, tid, 0);
	else if (sig == SIGTRAP)
		on_trap(tid);
	else
		on_signal(tid, sig);
}

static int ended(int status)
{
	report();
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "step: signal %d in section %ld, position %ld\n",
		WTERMSIG(status), pass.section, pass.position);
	return 1;
}

static int trace(void)
{
	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0) {
			perror("step: waitpid");
			return 1;
		}
		if (WIFSTOPPED(status))
			on_stop(tid, status);
		else if (tid == leader)
			return ended(status);
	}
}

static void on_alarm(int sig)
{
	signal(sig, SIG_DFL);
	dprintf(STDERR_FILENO,
		"step: hangs in section %ld, position %ld of %ld\n",
		pass.section, pass.position, pass.length);
	kill(leader, SIGKILL);
	_exit(1);
}

/* Starts a child that waits until it is traced. */
static pid_t start(char **command)
{
	char go = 0;
	int gate[2];
	pid_t child;

	if (pipe(gate) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		close(gate[1]);
		if (read(gate[0], &go, 1) != 1)
			_exit(STATUS_SKIP);
		close(gate[0]);
		execvp(command[0], command);
		perror(command[0]);
		_exit(127);
	}
	close(gate[0]);
	if (child > 0 && ptrace(PTRACE_SEIZE, child, NULL,
				(void *)(long)TRACE_OPTIONS) < 0) {
		printf("skip: tracing is forbidden: %s\n", strerror(errno));
		exit(STATUS_SKIP);
	}
	if (write(gate[1], &go, 1) != 1)
		perror("step: write");
	close(gate[1]);
	return child;
}

int main(int argc, char **argv)
{
	int option;

	/* `+` ends the options at the command's name. */
	while ((option = getopt(argc, argv, "+s:n:")) != -1) {
		if (option == 's')
			injected_signal = atoi(optarg);
		else if (option == 'n')
			max_positions = atol(optarg);
		else
			return 2;
	}
	if (argv[optind] == NULL || max_positions < 1) {
		fprintf(stderr, "usage: step [-s SIGNAL] [-n POSITIONS] "
				"COMMAND [ARGS...]\n");
		return 2;
	}
	signal(SIGALRM, on_alarm);
	alarm(PASS_LIMIT_S);
	leader = start(&argv[optind]);
	return leader < 0 ? 1 : trace();
}
