/* SPDX-License-Identifier: MIT */
/*
 * A program for test_names.py: its threads have names. It does what each
 * line of its input says, and answers with one line:
 *
 *     bind      a thread "bound-one" binds itself and stays
 *     ask       a thread "asked-one" has itself bound by weft_thread_bind
 *     sync      the first thread writes a file to the disk
 *     rename    the first thread renames it to "bound-two"
 *     fork      a thread "forker" forks; the child starts a thread and stays
 *     vfork     a thread "forker" makes a child by vfork, which stays
 *     exec      a thread "forker" makes a child that executes sleep(1)
 *     end       the children and the program end
 *
 * The answer to those that make a child is the child's pid.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

enum { MOST_CHILDREN = 8 };

static pid_t children[MOST_CHILDREN];
static int nr_children;
static pthread_t bound;
static int answers[2];
static FILE *file;

static void need(int is_true, const char *what)
{
	if (!is_true) {
		perror(what);
		_exit(99);
	}
}

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	need(pthread_create(&thread, NULL, run, arg) == 0, "pthread_create");
	return thread;
}

static void answer(long value)
{
	need(write(answers[1], &value, sizeof(value)) == sizeof(value),
	     "write");
}

static long take_answer(void)
{
	long value = 0;

	need(read(answers[0], &value, sizeof(value)) == sizeof(value), "read");
	return value;
}

static void stay(void)
{
	for (;;)
		pause();
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void *be_bound(void *arg)
{
	prctl(PR_SET_NAME, "bound-one");
	need(setpriority(PRIO_PROCESS, 0, 5) == 0, "setpriority");
	answer(0);
	stay();
	return arg;
}

static void *be_bound_by_weft(void *arg)
{
	pthread_setname_np(pthread_self(), "asked-one");
	answer(weft_thread_bind(pthread_self()));
	stay();
	return arg;
}

static void *stay_in_child(void *arg)
{
	answer(getpid());
	stay();
	return arg;
}

static void *fork_named(void *arg)
{
	pthread_setname_np(pthread_self(), "forker");
	if (fork() == 0) {
		start(stay_in_child, NULL);
		stay();
	}
	return arg;
}

/* The parent's thread waits meanwhile; others do not. */
static void *vfork_named(void *arg)
{
	pthread_setname_np(pthread_self(), "forker");
	if (vfork() == 0) {
		answer(getpid());
		_exit(pause());
	}
	return arg;
}

static void *exec_named(void *arg)
{
	pid_t pid;

	pthread_setname_np(pthread_self(), "forker");
	pid = fork();
	if (pid == 0) {
		execlp("sleep", "sleep", "1000", NULL);
		_exit(99);
	}
	answer(pid);
	return arg;
}

static void make_child(void *(*run)(void *))
{
	long pid;

	pthread_detach(start(run, NULL));
	pid = take_answer();
	need(nr_children < MOST_CHILDREN, "too many children");
	children[nr_children++] = (pid_t)pid;
	printf("%ld\n", pid);
}

static void end_children(void)
{
	for (int i = 0; i < nr_children; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

static void obey(const char *command)
{
	if (strcmp(command, "bind\n") == 0) {
		bound = start(be_bound, NULL);
		printf("%ld\n", take_answer());
	} else if (strcmp(command, "ask\n") == 0) {
		start(be_bound_by_weft, NULL);
		printf("%ld\n", take_answer());
	} else if (strcmp(command, "sync\n") == 0) {
		printf("%d\n", fsync(fileno(file)));
	} else if (strcmp(command, "rename\n") == 0) {
		printf("%d\n", pthread_setname_np(bound, "bound-two"));
	} else if (strcmp(command, "fork\n") == 0) {
		make_child(fork_named);
	} else if (strcmp(command, "vfork\n") == 0) {
		make_child(vfork_named);
	} else if (strcmp(command, "exec\n") == 0) {
		make_child(exec_named);
	} else {
		end_children();
		exit(0);
	}
}

int main(void)
{
	char line[32];

	need(pipe(answers) == 0, "pipe");
	file = tmpfile();
	need(file != NULL, "tmpfile");
	prctl(PR_SET_NAME, "chief");
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Threads are there from here on. */
	pthread_join(start(do_nothing, NULL), NULL);
	puts("ready");
	while (fgets(line, sizeof(line), stdin) != NULL)
		obey(line);
	end_children();
	return 0;
}
