/* SPDX-License-Identifier: MIT */
/*
 * A program that the kernel refuses calls which weft has another way for.
 * usage: see_refused FILE [WORD...], where FILE is for a lock; the words:
 *
 *     io_uring, membarrier, guards, cpu_timers, processes
 *                 the kernel refuses these from the start
 *     affinity    two threads have a CPU of their own
 *
 * One thread waits for a pipe and one for a lock of a file. Prints a line for
 * each thread, with its id and where it is, and "ready". Ends with its input.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "confine.h"

enum { GUARD_INSTALL = 102 };

#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define HAS(bit, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bit, yes, no)
#define LOAD_ARG(n)                        \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		 offsetof(struct seccomp_data, args[n]))

static sem_t arrived;
static int pipe_ends[2];
static const char *lock_file;

static void arrive(const char *where)
{
	printf("%d %s\n", (int)gettid(), where);
	sem_post(&arrived);
}

static void make(void *(*start)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, NULL) != 0)
		exit(4);
	sem_wait(&arrived);
}

static void install(struct sock_filter *code, size_t nr)
{
	if (confine_to(code, nr) != 0)
		exit(77);
}

static void refuse_call(int nr, int error)
{
	struct sock_filter code[] = { CONFINE_LOAD_NUMBER,
				      IS((unsigned int)nr, 0, 1),
				      REFUSE((unsigned int)error),
				      CONFINE_ALLOW };

	install(code, sizeof(code) / sizeof(code[0]));
}

static void refuse_guards(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,	 IS(SYS_madvise, 0, 3), LOAD_ARG(2),
		IS(GUARD_INSTALL, 0, 1), REFUSE(EINVAL),	CONFINE_ALLOW
	};

	install(code, sizeof(code) / sizeof(code[0]));
}

static void refuse_processes(void)
{
	struct sock_filter code[] = {
		CONFINE_LOAD_NUMBER,	 IS(SYS_clone, 0, 3), LOAD_ARG(0),
		HAS(CLONE_THREAD, 1, 0), REFUSE(EPERM),	      CONFINE_ALLOW
	};

	install(code, sizeof(code) / sizeof(code[0]));
}

static void refuse(const char *what)
{
	if (strcmp(what, "io_uring") == 0)
		refuse_call(SYS_io_uring_setup, EPERM);
	else if (strcmp(what, "membarrier") == 0)
		refuse_call(SYS_membarrier, EPERM);
	else if (strcmp(what, "cpu_timers") == 0)
		refuse_call(SYS_timer_create, EAGAIN);
	else if (strcmp(what, "guards") == 0)
		refuse_guards();
	else if (strcmp(what, "processes") == 0)
		refuse_processes();
}

/* --- threads -------------------------------------------------------------- */

static void *read_pipe(void *arg)
{
	char c;

	arrive("pipe");
	return read(pipe_ends[0], &c, 1) < 0 ? NULL : arg;
}

static void *lock(void *arg)
{
	int fd = open(lock_file, O_RDWR);

	arrive("lock");
	flock(fd, LOCK_EX);
	return arg;
}

static void *have_a_cpu(void *arg)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int i = 0, nr = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &cpus) && nr++ > 0)
			CPU_CLR(i, &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	arrive("affinity");
	pause();
	return arg;
}

static void add(const char *what)
{
	for (int i = 0; i < 2 && strcmp(what, "affinity") == 0; i++)
		make(have_a_cpu);
}

int main(int argc, char **argv)
{
	int locked;
	char c;

	sem_init(&arrived, 0, 0);
	lock_file = argv[1];
	locked = open(lock_file, O_RDWR | O_CREAT, 0600);
	if (locked < 0 || flock(locked, LOCK_EX) != 0 || pipe(pipe_ends) != 0)
		exit(3);
	for (int i = 2; i < argc; i++)
		refuse(argv[i]);
	make(read_pipe);
	make(lock);
	for (int i = 2; i < argc; i++)
		add(argv[i]);
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}
