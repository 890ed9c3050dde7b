/* SPDX-License-Identifier: MIT */
/*
 * The first process of an emulated machine: it runs programs that the console
 * names, one after the other. It is linked statically. A line from the console
 * is one of
 *
 *     run LIMIT_S NAME=VALUE... PROGRAM ARGUMENT...
 *     count LIMIT_S NAME=VALUE... PROGRAM ARGUMENT...
 *     ticks
 *
 * and the answers are lines that begin with an @:
 *
 *     @ready KERNEL CPU        once, before the first line is read
 *     @out TEXT                a line that the program has printed
 *     @calls NUMBER            after a program of count: the system calls of
 *                              the whole machine, this process's included
 *     @ticks LINE              the first line of /proc/stat
 *     @end STATUS              its exit status, 128 + N after signal N, or
 *                              "late" after LIMIT_S seconds
 *
 * The kernel's own messages may stand between these lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define CALLS "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"

enum { MOST_WORDS = 64, MOST_LINE = 1024, NO_PROGRAM = 127 };

static void fail(const char *what)
{
	printf("@failed %s: %s\n", what, strerror(errno));
	reboot(RB_POWER_OFF);
	exit(1);
}

static void mount_at(const char *kind, const char *folder)
{
	mkdir(folder, 0755);
	/* The kernel may have mounted it already. */
	if (mount(kind, folder, kind, 0, NULL) != 0 && errno != EBUSY)
		fail(folder);
}

/*
 * Opens a counter of all system calls of the only CPU; returns -1 on failure.
 * While it exists, each call takes a longer path into the kernel.
 */
static int open_counter(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
					.size = sizeof(attr) };
	FILE *file = fopen(CALLS, "r");
	unsigned long long id = 0;

	if (file == NULL || fscanf(file, "%llu", &id) != 1)
		return -1;
	fclose(file);
	attr.config = id;
	return (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
}

static void print_counter(int counter)
{
	uint64_t value;

	if (counter >= 0 &&
	    read(counter, &value, sizeof(value)) == sizeof(value))
		printf("@calls %llu\n", (unsigned long long)value);
	if (counter >= 0)
		close(counter);
}

/* The console sends and receives lines unchanged, without an echo. */
static void quiet_console(void)
{
	struct termios now;

	if (tcgetattr(STDIN_FILENO, &now) != 0)
		fail("tcgetattr");
	now.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
	now.c_oflag &= ~(tcflag_t)OPOST;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &now) != 0)
		fail("tcsetattr");
}

/* Runs in the child. Words with "=" are its environment. */
static void run(char **words, int output)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };

	sigaction(SIGPIPE, &usual, NULL);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	for (; *words != NULL && strchr(*words, '=') != NULL; words++)
		putenv(*words);
	if (*words != NULL)
		execv(*words, words);
	perror(*words);
	_exit(NO_PROGRAM);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Prints what was read, with @out at the beginning of each line. */
static void print_lines(const char *text, ssize_t size, int *is_inside)
{
	for (ssize_t i = 0; i < size; i++) {
		if (!*is_inside)
			fputs("@out ", stdout);
		putchar(text[i]);
		*is_inside = text[i] != '\n';
	}
	fflush(stdout);
}

/*
 * Copies until the program and all its children have closed the pipe. Returns 0
 * if that takes longer than the limit.
 */
static int copy_output(int from, long limit_ms)
{
	struct pollfd pipe = { .fd = from, .events = POLLIN };
	long end_ms = now_ms() + limit_ms, left_ms;
	int is_inside = 0;
	char text[512];
	ssize_t size;

	do {
		left_ms = end_ms - now_ms();
		if (left_ms <= 0 || poll(&pipe, 1, (int)left_ms) <= 0)
			continue;
		size = read(from, text, sizeof(text));
		if (size <= 0)
			break;
		print_lines(text, size, &is_inside);
	} while (left_ms > 0);
	if (is_inside)
		putchar('\n');
	return left_ms > 0;
}

/* Kills every other process. Returns the wait status of `first`, or -1. */
static int end_all(pid_t first, int is_late)
{
	int status, found = -1;
	pid_t pid;

	if (!is_late)
		waitpid(first, &found, 0);
	kill(-1, SIGKILL);
	while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR)
		;
	return found;
}

static void answer_run(char **words, int nr_words)
{
	int ends[2], status, is_late, counter = -1;
	pid_t pid;

	if (strcmp(words[0], "count") == 0)
		counter = open_counter();
	if (nr_words < 3 || pipe(ends) != 0)
		fail("run");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		close(ends[0]);
		run(words + 2, ends[1]);
	}
	close(ends[1]);
	is_late = !copy_output(ends[0], atol(words[1]) * 1000);
	close(ends[0]);
	status = end_all(pid, is_late);
	print_counter(counter);
	if (is_late)
		puts("@end late");
	else if (WIFSIGNALED(status))
		printf("@end %d\n", 128 + WTERMSIG(status));
	else
		printf("@end %d\n", WEXITSTATUS(status));
}

static void answer_ticks(void)
{
	FILE *file = fopen("/proc/stat", "r");
	char line[MOST_LINE];

	if (file == NULL || fgets(line, sizeof(line), file) == NULL)
		fail("/proc/stat");
	fclose(file);
	printf("@ticks %s", line);
}

static void answer(char *line)
{
	char *words[MOST_WORDS + 1], *rest = line;
	int nr = 0;

	while (nr < MOST_WORDS && (words[nr] = strsep(&rest, " \n")) != NULL)
		nr += words[nr][0] != '\0';
	words[nr] = NULL;
	if (nr == 1 && strcmp(words[0], "ticks") == 0)
		answer_ticks();
	else if (nr > 0)
		answer_run(words, nr);
}

int main(void)
{
	char line[MOST_LINE];
	struct utsname names;

	mount_at("proc", "/proc");
	mount_at("devtmpfs", "/dev");
	mount_at("tmpfs", "/tmp");
	mount_at("tmpfs", "/dev/shm");
	mount_at("sysfs", "/sys");
	/* Only counting needs this file system. */
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	quiet_console();
	uname(&names);
	printf("@ready %s %s\n", names.release, names.machine);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		answer(line);
		fflush(stdout);
	}
	reboot(RB_POWER_OFF);
	return 1;
}
