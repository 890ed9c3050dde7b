/* SPDX-License-Identifier: MIT */
/*
 * Behaves like programs that fill the screen. It resets the terminal before the
 * terminal's key stops it, and again when it continues. Its threads work
 * meanwhile; another thread answers each line. With an argument it leaves
 * stopping to the kernel.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NR_THREADS = 8, LINE_BYTES = 80 };

static sem_t asked, answered;
static char line[LINE_BYTES];

static void say(const char *what)
{
	if (write(STDOUT_FILENO, what, strlen(what)) < 0)
		_exit(98);
}

static void on_resize(int sig)
{
	say("resized\n");
}

/* Takes the default action at the end of its own handler. */
static void on_stop(int sig)
{
	struct sigaction old, plain = { .sa_handler = SIG_DFL };
	int saved_errno = errno;
	sigset_t set;

	say("stopping\n");
	sigaction(SIGTSTP, &plain, &old);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* the process stops here */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTSTP, &old, NULL);
	say("going on\n");
	errno = saved_errno;
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_RESTART };

	if (sigaction(sig, &action, NULL) < 0)
		exit(97);
}

static void *answer(void *arg)
{
	for (;;) {
		while (sem_wait(&asked) < 0)
			continue;
		printf("answer: %s", line);
		fflush(stdout);
		sem_post(&answered);
	}
	return arg;
}

static void *work(void *arg)
{
	for (;;)
		usleep(2000);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	ssize_t n;

	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	if (argc == 1)
		handle(SIGTSTP, on_stop);
	handle(SIGWINCH, on_resize);
	for (int i = 0; i < NR_THREADS; i++) {
		if (pthread_create(&thread, NULL, i == 0 ? answer : work,
				   NULL) != 0)
			exit(99);
	}
	puts("ready");
	fflush(stdout);
	while ((n = read(STDIN_FILENO, line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		sem_post(&asked);
		while (sem_wait(&answered) < 0)
			continue;
	}
	puts(n == 0 ? "end" : strerror(errno));
	return 5;
}
