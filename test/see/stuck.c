/* SPDX-License-Identifier: MIT */
/*
 * A program with threads that wait, and threads that are stuck where locks of
 * libc are held. usage: see_stuck NR_WAITING [WORD...]; the words:
 *
 *     malloc         a thread stays in malloc, and another waits for its lock
 *     loader=FILE    a thread stays in dlopen of FILE, and another waits for it
 *     spin           a thread computes
 *     confined       the kernel refuses to read other processes
 *     no-fork        the kernel makes no processes
 *     blocks=SIGNAL  each thread blocks the signal
 *     takes=SIGNAL   it has a handler for the signal, and sends itself three
 *     fork           a child without threads waits for ever
 *     one-thread     no thread is made
 *
 * All threads are made first, since that needs malloc and the loader. Then
 * each thread goes to its place. The program prints the ids with the function
 * that each is in, and "ready". Then it answers each line of its input with the
 * number of handlers that have run.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/sched.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "confine.h"

enum { PAGE = 4096, PIECE = 100 * 1000, STACK = 64 << 10 };

static sem_t arrived, never, asked, answered;
static volatile sig_atomic_t nr_handled;
static const char *module;

/* The buffers of stdio would need malloc. */
static void say(const char *format, long a, const char *b)
{
	char line[128];
	int n = snprintf(line, sizeof(line), format, a, b);

	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(3);
}

static void arrive(const char *function)
{
	say("%ld %s\n", gettid(), function);
	sem_post(&arrived);
}

static void make(void *(*start)(void *), int nr)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, start, NULL) != 0)
			exit(4);
}

/* Where threads wait until they are told to go to their places. */
static sem_t stay_malloc, wait_malloc, stay_loader, wait_loader;

static void let_go(sem_t *thread)
{
	sem_post(thread);
	sem_wait(&arrived);
}

static void *wait_for_ever(void *arg)
{
	arrive("wait_for_ever");
	sem_wait(&never);
	return arg;
}

static void *compute(void *arg)
{
	volatile long n = 0;

	arrive("compute");
	for (;;)
		n++;
	return arg;
}

static void *answer(void *arg)
{
	for (;;) {
		sem_wait(&asked);
		sem_post(&answered);
	}
	return arg;
}

/* --- malloc --------------------------------------------------------------- */

/*
 * The rest of the heap is taken away. malloc has its lock when it writes there,
 * and the handler for the fault never returns.
 */
static void stay(int sig)
{
	arrive("stay_in_malloc");
	sem_wait(&never);
}

static void *stay_in_malloc(void *arg)
{
	sem_wait(&stay_malloc);
	return malloc(PIECE);
}

static void *wait_for_malloc(void *arg)
{
	sem_wait(&wait_malloc);
	arrive("wait_for_malloc");
	return malloc(PIECE);
}

static void lock_malloc(void)
{
	struct sigaction action = { .sa_handler = stay };
	char *last = malloc(PIECE);
	size_t rest = ((size_t)last + PAGE) / PAGE * PAGE;

	/* Now the next piece is at the same place, and what follows is free. */
	free(last);
	sigaction(SIGSEGV, &action, NULL);
	mprotect((void *)rest, (size_t)sbrk(0) - rest, PROT_NONE);
	let_go(&stay_malloc);
	let_go(&wait_malloc);
}

/* --- the loader ----------------------------------------------------------- */

/* The module's constructor calls it. */
void wait_in_constructor(void);
__attribute__((visibility("default"))) void wait_in_constructor(void)
{
	arrive("wait_in_constructor");
	sem_wait(&never);
}

static void *stay_in_loader(void *arg)
{
	sem_wait(&stay_loader);
	dlopen(module, RTLD_NOW);
	return arg;
}

static void *wait_for_loader(void *arg)
{
	sem_wait(&wait_loader);
	arrive("wait_for_loader");
	dlopen(module, RTLD_NOW);
	return arg;
}

/* --- the kernel ----------------------------------------------------------- */

#define REFUSE(call)                                           \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void confine(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,	  REFUSE(ptrace),
		REFUSE(process_vm_readv), REFUSE(process_vm_writev),
		REFUSE(pidfd_getfd),	  CONFINE_ALLOW,
	};

	if (confine_to(code, sizeof(code) / sizeof(code[0])) != 0)
		exit(77);
}

static void refuse_processes(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		CONFINE_ALLOW,
		CONFINE_ALLOW,
	};

	if (confine_to(code, sizeof(code) / sizeof(code[0])) != 0)
		exit(77);
}

/* --- a handler ------------------------------------------------------------ */

static void count(int sig)
{
	nr_handled++;
}

static void take(const char *number)
{
	struct sigaction action = { .sa_handler = count }, old;
	int sig = atoi(number);

	sigaction(sig, &action, NULL);
	/* The program finds what it has set. */
	if (sigaction(sig, NULL, &old) != 0 || old.sa_handler != count)
		exit(5);
	raise(sig);
	kill(getpid(), sig);
	pthread_kill(pthread_self(), sig);
}

static void block(const char *number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, atoi(number));
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* Threads inherit it, and so do weft's. */
static void change_for(const char *word)
{
	if (strncmp(word, "blocks=", 7) == 0)
		block(word + 7);
	else if (strcmp(word, "confined") == 0)
		confine();
	else if (strcmp(word, "no-fork") == 0)
		refuse_processes();
}

static void fork_child(void)
{
	pid_t pid = fork();

	while (pid == 0)
		pause();
	say("%ld %s\n", pid, "fork_child");
}

static void make_for(const char *word)
{
	if (strcmp(word, "malloc") == 0) {
		make(stay_in_malloc, 1);
		make(wait_for_malloc, 1);
	} else if (strncmp(word, "loader=", 7) == 0) {
		module = word + 7;
		make(stay_in_loader, 1);
		make(wait_for_loader, 1);
	} else if (strcmp(word, "spin") == 0) {
		make(compute, 1);
		sem_wait(&arrived);
	}
}

static void obey(const char *word)
{
	if (strncmp(word, "takes=", 6) == 0) {
		take(word + 6);
	} else if (strcmp(word, "malloc") == 0) {
		lock_malloc();
	} else if (strncmp(word, "loader=", 7) == 0) {
		let_go(&stay_loader);
		let_go(&wait_loader);
	} else if (strcmp(word, "fork") == 0) {
		fork_child();
	}
}

int main(int argc, char **argv)
{
	bool is_alone = argc > 2 && strcmp(argv[2], "one-thread") == 0;
	char c;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	sem_init(&arrived, 0, 0);
	sem_init(&never, 0, 0);
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	sem_init(&stay_malloc, 0, 0);
	sem_init(&wait_malloc, 0, 0);
	sem_init(&stay_loader, 0, 0);
	sem_init(&wait_loader, 0, 0);
	for (int i = 2; i < argc; i++)
		change_for(argv[i]);
	if (!is_alone)
		make(answer, 1);
	make(wait_for_ever, atoi(argv[1]));
	for (int i = 0; i < atoi(argv[1]); i++)
		sem_wait(&arrived);
	for (int i = 2; i < argc; i++)
		make_for(argv[i]);
	for (int i = 2; i < argc; i++)
		obey(argv[i]);
	say("ready%.0ld%s\n", 0, "");
	while (read(STDIN_FILENO, &c, 1) > 0) {
		if (!is_alone) {
			sem_post(&asked);
			sem_wait(&answered);
		}
		say("%ld%s\n", (long)nr_handled, "");
	}
	_exit(0);
}
