/* SPDX-License-Identifier: MIT */
/*
 * Used by the tests of system calls: each command uses one part of weft. The
 * output is the same natively and on weft.
 *
 *     manners_calls COMMAND
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: %s\n", what, strerror(errno));
		exit(99);
	}
}
#define CHECK(x) check((x), #x)

static pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, fn, arg) == 0);
	return thread;
}

static void join(pthread_t thread)
{
	CHECK(pthread_join(thread, NULL) == 0);
}

/*
 * Under a filter getpid and fork may fail, and kill(-1) would reach all
 * processes.
 */
static int signal_one(pid_t pid, int sig)
{
	CHECK(pid > 1);
	return kill(pid, sig);
}

static void nap(void)
{
	CHECK(usleep(5000) == 0);
}

/* --- descriptors --- */

enum { NR_PIPES = 20 };

static void *write_late(void *fd)
{
	nap();
	CHECK(write(*(int *)fd, "x", 1) == 1);
	return NULL;
}

static void *send_late(void *fd)
{
	char big[300000] = { 0 };

	nap();
	CHECK(send(*(int *)fd, "xy", 2, 0) == 2);
	CHECK(write(*(int *)fd, big, sizeof(big)) == sizeof(big));
	return NULL;
}

static void use_pipe(int p[2])
{
	struct pollfd fd = { p[0], POLLIN, 0 };
	pthread_t t = start(write_late, &p[1]);
	fd_set set;
	char c;

	CHECK(poll(&fd, 1, -1) == 1 && read(p[0], &c, 1) == 1);
	join(t);
	t = start(write_late, &p[1]);
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	CHECK(select(p[0] + 1, &set, NULL, NULL, NULL) == 1);
	join(t);
	CHECK(read(p[0], &c, 1) == 1);
	t = start(write_late, &p[1]);
	CHECK(read(p[0], &c, 1) == 1);
	join(t);
}

static void poll_many(void)
{
	int pipes[NR_PIPES][2];
	struct pollfd fds[NR_PIPES];
	pthread_t t;

	for (int i = 0; i < NR_PIPES; i++) {
		CHECK(pipe(pipes[i]) == 0);
		fds[i] = (struct pollfd){ pipes[i][0], POLLIN, 0 };
	}
	t = start(write_late, &pipes[7][1]);
	CHECK(poll(fds, NR_PIPES, -1) == 1 && fds[7].revents == POLLIN);
	join(t);
	for (int i = 0; i < NR_PIPES; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

static void use_epoll(int p[2])
{
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t t;
	char c;

	CHECK(epoll_ctl(set, EPOLL_CTL_ADD, p[0], &event) == 0);
	t = start(write_late, &p[1]);
	CHECK(epoll_wait(set, &event, 1, -1) == 1 && read(p[0], &c, 1) == 1);
	join(t);
	close(set);
}

static void *connect_to(void *address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(connect(fd, address, sizeof(struct sockaddr_in)) == 0);
	send_late(&fd);
	close(fd);
	return NULL;
}

static void use_socket(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0), fd;
	char buf[4096];
	ssize_t n, sum = 0;
	pthread_t t;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(server, (void *)&address, sizeof(address)) == 0);
	CHECK(listen(server, 5) == 0);
	CHECK(getsockname(server, (void *)&address, &bytes) == 0);
	t = start(connect_to, &address);
	fd = accept(server, NULL, NULL);
	CHECK(fd >= 0 && recv(fd, buf, 1, 0) == 1);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += n;
	printf("%zd bytes\n", sum);
	join(t);
	close(fd);
	close(server);
}

static int descriptors(void)
{
	int p[2];

	CHECK(pipe(p) == 0);
	use_pipe(p);
	use_epoll(p);
	poll_many();
	use_socket();
	close(p[0]);
	close(p[1]);
	return 0;
}

/* --- signals --- */

static volatile sig_atomic_t nr_handled;

static void handle(int sig)
{
	nr_handled += sig == SIGUSR1;
}

static void *wait_for_signal(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR2);
	return arg;
}

static void use_signalfd(sigset_t *set)
{
	int fd = signalfd(-1, set, SFD_CLOEXEC);
	struct signalfd_siginfo info;

	CHECK(fd >= 0 && signal_one(getpid(), SIGUSR2) == 0);
	CHECK(read(fd, &info, sizeof(info)) == sizeof(info));
	close(fd);
}

static void use_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGALRM };
	/* Periodic, because the first expiration may come before pause. */
	struct itimerspec soon = { .it_interval = { 0, 2000000 },
				   .it_value = { 0, 2000000 } };
	timer_t timer;

	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	CHECK(timer_settime(timer, 0, &soon, NULL) == 0);
	CHECK(pause() == -1 && errno == EINTR);
	CHECK(timer_delete(timer) == 0);
}

static int signals(void)
{
	struct sigaction action = { .sa_handler = handle,
				    .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	sigset_t set, old;
	pthread_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, &old) == 0);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(sigaction(SIGALRM, &action, NULL) == 0);
	t = start(wait_for_signal, NULL);
	CHECK(sigaltstack(&stack, NULL) == 0);
	nap();
	CHECK(pthread_kill(t, SIGUSR2) == 0);
	join(t);
	use_signalfd(&set);
	CHECK(raise(SIGUSR1) == 0);
	CHECK(signal_one(getpid(), SIGUSR1) == 0);
	CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){ 0 }) == 0);
	use_timer();
	ualarm(5000, 5000);
	CHECK(sigsuspend(&old) == -1);
	ualarm(0, 0);
	printf("handled %d\n", (int)nr_handled);
	return 0;
}

/* --- processes --- */

static void end_child(pid_t pid)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void *fork_here(void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		join(start(wait_for_signal, NULL));
		_exit(0);
	}
	nap();
	CHECK(signal_one(pid, SIGUSR2) == 0);
	end_child(pid);
	return arg;
}

static int processes(void)
{
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	join(start(fork_here, NULL));
	pid = vfork();
	if (pid == 0)
		_exit(0);
	end_child(pid);
	CHECK(system("true") == 0);
	puts("children ended");
	return 0;
}

/* --- objects that processes share --- */

struct shared {
	pthread_mutex_t mutex;
	sem_t sem;
};

static void *post_late(void *s)
{
	nap();
	CHECK(sem_post(&((struct shared *)s)->sem) == 0);
	CHECK(pthread_mutex_lock(&((struct shared *)s)->mutex) == 0);
	return NULL;
}

static int shared(void)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	pthread_t t;

	CHECK(s != MAP_FAILED && sem_init(&s->sem, 1, 0) == 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(&s->mutex, &attr) == 0);
	CHECK(pthread_mutex_lock(&s->mutex) == 0);
	t = start(post_late, s);
	CHECK(sem_wait(&s->sem) == 0);
	nap();
	CHECK(pthread_mutex_unlock(&s->mutex) == 0);
	join(t);
	printf("lock: %d\n", pthread_mutex_lock(&s->mutex) == EOWNERDEAD);
	return 0;
}

/* --- CPUs, limits and ids of threads --- */

static volatile int is_over;

static void *compute(void *arg)
{
	while (!is_over)
		;
	return arg;
}

static void *change(void *arg)
{
	struct sched_param param = { .sched_priority = 0 };
	struct timespec ts;
	struct rusage usage;
	cpu_set_t cpus;
	clockid_t clock;

	CHECK(pthread_getcpuclockid(pthread_self(), &clock) == 0);
	CHECK(clock_gettime(clock, &ts) == 0);
	CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0);
	CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
	CHECK(sched_setscheduler(0, SCHED_OTHER, &param) == 0);
	param.sched_priority = 1;
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &cpus)) {
			CPU_ZERO(&cpus);
			CPU_SET(cpu, &cpus);
			break;
		}
	}
	CHECK(sched_setaffinity(0, sizeof(cpus), &cpus) == 0);
	pthread_setname_np(pthread_self(), "name");
	return arg;
}

static int places(void)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		threads[i] = start(compute, NULL);
	nap();
	join(start(change, NULL));
	CHECK(setuid(getuid()) == 0);
	for (int i = 0; i < 10; i++)
		sched_yield();
	is_over = 1;
	for (int i = 0; i < 3; i++)
		join(threads[i]);
	puts("places seen");
	return 0;
}

/* --- calls that weft does not know --- */

static void *wait_for_child(void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		nap();
		nap();
		nap();
		_exit(0);
	}
	end_child(pid);
	return arg;
}

static int blocking(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		threads[i] = start(wait_for_child, NULL);
	for (int i = 0; i < 4; i++) {
		nap();
		join(threads[i]);
	}
	puts("waited");
	return 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (strcmp(command, "descriptors") == 0)
		return descriptors();
	if (strcmp(command, "signals") == 0)
		return signals();
	if (strcmp(command, "processes") == 0)
		return processes();
	if (strcmp(command, "shared") == 0)
		return shared();
	if (strcmp(command, "places") == 0)
		return places();
	if (strcmp(command, "blocking") == 0)
		return blocking();
	fprintf(stderr, "unknown command '%s'\n", command);
	return 2;
}
