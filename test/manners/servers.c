/* SPDX-License-Identifier: MIT */
/*
 * Threads in waits that an I/O worker has to make: for process-shared
 * semaphores, and for all bytes of a message. Each character on standard input
 * is a command, and each gets one line of answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_WAITERS = 8, BYTES = 100 };

static sem_t *sem;
static int ends[2];
static volatile sig_atomic_t nr_child_signals, nr_interrupts;
static atomic_int nr_ended; /* waits that a handler has ended */

static void on_child(int sig)
{
	nr_child_signals++;
}

static void on_interrupt(int sig)
{
	nr_interrupts++;
}

static void *wait_for_post(void *arg)
{
	while (sem_wait(sem) < 0) {
		if (errno != EINTR)
			return NULL;
		nr_ended++;
	}
	return arg;
}

/* Returns the number of bytes, or -errno. */
static void *receive_all(void *arg)
{
	char data[BYTES];
	struct iovec iov = { data, sizeof(data) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n = recvmsg(ends[0], &msg, MSG_WAITALL);

	return (void *)(intptr_t)(n < 0 ? -errno : n);
}

static pthread_t waiters[NR_WAITERS], receiver;

static void begin(void)
{
	for (intptr_t i = 0; i < NR_WAITERS; i++)
		pthread_create(&waiters[i], NULL, wait_for_post,
			       (void *)(i + 1));
	pthread_create(&receiver, NULL, receive_all, NULL);
}

static void interrupt_waiters(void)
{
	for (int i = 0; i < NR_WAITERS; i++)
		pthread_kill(waiters[i], SIGUSR1);
}

static void finish(void)
{
	static const char data[BYTES];
	int nr_posted = 0;
	void *result;

	for (int i = 0; i < NR_WAITERS; i++)
		sem_post(sem);
	for (int i = 0; i < NR_WAITERS; i++) {
		pthread_join(waiters[i], &result);
		nr_posted += result == (void *)(intptr_t)(i + 1);
	}
	if (write(ends[1], data, sizeof(data)) != sizeof(data))
		exit(9);
	pthread_join(receiver, &result);
	printf("%d posted, received %s\n", nr_posted,
	       result == (void *)(intptr_t)BYTES ? "all" :
	       result == (void *)(intptr_t)-EIO	 ? "EIO" :
						   "something else");
}

static void *do_nothing(void *arg)
{
	return arg;
}

static int open_new_file(int flags)
{
	char path[] = "/var/tmp/weft-servers-XXXXXX";
	int maker = mkstemp(path);
	int fd = open(path, O_RDWR | flags);

	if (maker < 0 || unlink(path) < 0)
		exit(9);
	close(maker);
	return fd;
}

/* Makes a file without threads, and reads it with threads by open's flags. */
static void read_file(int flags)
{
	enum { BLOCK = 4096, NR_BLOCKS = 50 };
	static char block[BLOCK] __attribute__((aligned(BLOCK)));
	int fd = open_new_file(flags), nr = 0;
	pthread_t thread;

	for (int i = 0; i < NR_BLOCKS; i++)
		nr += write(fd, block, BLOCK) == BLOCK;
	pthread_create(&thread, NULL, do_nothing, NULL);
	pthread_join(thread, NULL);
	for (int round = 0; round < 20; round++) {
		lseek(fd, 0, SEEK_SET);
		while (read(fd, block, BLOCK) == BLOCK)
			nr++;
	}
	printf("%d blocks\n", nr);
	close(fd);
}

/* An I/O server makes writes that wait for the disk, after the first 1 MiB. */
static void write_behind_limit(void)
{
	int fd = open_new_file(O_DSYNC);

	if (lseek(fd, 1 << 20, SEEK_SET) < 0)
		exit(9);
	printf("%s\n", write(fd, "", 1) == 1 ? "written" :
		       errno == EFBIG	     ? "EFBIG" :
					       "something else");
	close(fd);
}

static void tell_children(void)
{
	int pid = wait(NULL);
	int err = errno;

	printf("%s, %d signals\n",
	       pid < 0 && err == ECHILD ? "no children" : "children",
	       (int)nr_child_signals);
}

static pthread_mutex_t held;

static void *end_as_holder(void *arg)
{
	return pthread_mutex_lock(&held) == 0 ? arg : NULL;
}

/* The kernel reports the owner's death, so its kernel thread has ended. */
static void lose_holder(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&held, &attr);
	pthread_create(&thread, NULL, end_as_holder, NULL);
	pthread_join(thread, NULL);
	printf("%s\n", pthread_mutex_lock(&held) == EOWNERDEAD ? "owner died" :
								 "owner lives");
}

static void execute(const char *path)
{
	execl(path, path, "30", NULL);
	printf("exec failed\n");
}

static void obey(int command)
{
	switch (command) {
	case 'b':
		begin();
		printf("begun\n");
		break;
	case 'f':
		finish();
		break;
	case 'h':
		read_file(0);
		break;
	case 'd':
		read_file(O_DIRECT);
		break;
	case 'w':
		write_behind_limit();
		break;
	case 'c':
		tell_children();
		break;
	case 'i':
		printf("%d interrupts\n", (int)nr_interrupts);
		break;
	case 'k':
		interrupt_waiters();
		printf("sent\n");
		break;
	case 'e':
		printf("%d waits ended\n", nr_ended);
		break;
	case 'u':
		printf("setresuid %d\n", setresuid(65534, 65534, 65534));
		break;
	case 'p':
		lose_holder();
		break;
	case 'x':
		execute("/nowhere");
		break;
	case 'X':
		execute("/bin/sleep");
		break;
	case '_':
		_exit(3);
	case 'q':
		exit(3);
	default:
		exit(9);
	}
}

int main(void)
{
	const struct sigaction end_wait = { .sa_handler = on_interrupt };
	int command;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGCHLD, on_child);
	signal(SIGINT, on_interrupt);
	signal(SIGXFSZ, SIG_IGN);
	sigaction(SIGUSR1, &end_wait, NULL);
	sem = mmap(NULL, sizeof(*sem), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sem == MAP_FAILED || sem_init(sem, 1, 0) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return 9;
	while ((command = getchar()) != EOF) {
		if (command != '\n')
			obey(command);
	}
	return 0;
}
