/* SPDX-License-Identifier: MIT */
/*
 * The echo servers' client: one loop over epoll, a message in flight on each
 * connection all the time.
 *
 *     client PID PORT CONNECTIONS SECONDS
 *
 * PID is the server's: the client reads its CPU clock. Prints
 *
 *     cpu_us FIGURE                 CPU time of the server for a request
 *     requests FIGURE               per second
 *     memory_kib FIGURE             memory of the server for a connection,
 *                                   without the kernel's for sockets
 *     kernel_kib FIGURE             memory of the kernel for a thread
 *     threads FIGURE                kernel threads of the server
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 64, MOST_EVENTS = 256, MOST = 65536, NR_LOOKS = 64 };

/* The beginning of the run, in seconds, which is not measured. */
static const double warm_up = 0.2;

static char message[MESSAGE];
static unsigned char came[MOST]; /* bytes of the answer, by descriptor */
static unsigned long nr_requests;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0)
		die("clock");
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- the server's memory ------------------------------------------------- */

/* Returns KiB from a file with lines "NAME: FIGURE". */
static double entry(const char *path, const char *name)
{
	char line[256];
	size_t length = strlen(name);
	double figure = -1;
	FILE *file = fopen(path, "r");

	if (file == NULL)
		die(path);
	while (figure < 0 && fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			figure = strtod(line + length + 1, NULL);
	}
	fclose(file);
	if (figure < 0) {
		fprintf(stderr, "no %s in %s\n", name, path);
		exit(1);
	}
	return figure;
}

static void *wait_at(void *barrier)
{
	pthread_barrier_wait(barrier); /* waits until all threads exist */
	pthread_barrier_wait(barrier); /* waits until all may end */
	return NULL;
}

/* The kernel's memory for threads: their stacks, and the rest. */
static double kernel_kib(void)
{
	return entry("/proc/meminfo", "KernelStack") +
	       entry("/proc/meminfo", "SUnreclaim");
}

static double one_thread_kib(void)
{
	enum { NR = 1000, STACK = 64 << 10 };
	static pthread_t threads[NR];
	pthread_barrier_t barrier;
	pthread_attr_t attr;
	double before, kib;
	char *stacks = mmap(NULL, (size_t)NR * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stacks == MAP_FAILED)
		die("mmap");
	pthread_attr_init(&attr);
	pthread_barrier_init(&barrier, NULL, NR + 1);
	before = kernel_kib();
	for (int i = 0; i < NR; i++) {
		pthread_attr_setstack(&attr, stacks + (size_t)i * STACK, STACK);
		errno = pthread_create(&threads[i], &attr, wait_at, &barrier);
		if (errno != 0)
			die("pthread_create");
	}
	pthread_barrier_wait(&barrier);
	kib = kernel_kib() - before;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	munmap(stacks, (size_t)NR * STACK);
	return kib / NR;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Measures the kernel's memory for a thread, by threads of this process that
 * need no mappings. The median of some rounds counts, because the kernel may
 * still be freeing the last server's threads.
 */
static double of_kernel_kib(void)
{
	enum { NR_ROUNDS = 9, PAUSE_US = 50000 };
	double kib[NR_ROUNDS];

	for (int i = 0; i < NR_ROUNDS; i++) {
		usleep(PAUSE_US);
		kib[i] = one_thread_kib();
	}
	qsort(kib, NR_ROUNDS, sizeof(kib[0]), compare);
	return kib[NR_ROUNDS / 2];
}

static double memory_kib(const char *pid, double of_kernel, double *ret_threads)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	*ret_threads = entry(path, "Threads");
	return entry(path, "RssAnon") + entry(path, "VmPTE") +
	       *ret_threads * of_kernel;
}

/* --- connections --------------------------------------------------------- */

/*
 * Ends the connections without a handshake, so that all port numbers are free
 * for the next run.
 */
static int connect_to(int port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	const struct linger at_once = { .l_onoff = 1 };
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		die("connect");
	if (fd >= MOST) {
		fprintf(stderr, "too many descriptors\n");
		exit(1);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	return fd;
}

static void ask(int fd)
{
	if (send(fd, message, MESSAGE, MSG_NOSIGNAL) != MESSAGE)
		die("send");
}

static void hear(int fd)
{
	char answer[MESSAGE];
	ssize_t n = recv(fd, answer, MESSAGE - came[fd], MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || memcmp(answer, message + came[fd], (size_t)n) != 0) {
		fprintf(stderr, "a wrong answer (%zd)\n", n);
		exit(1);
	}
	came[fd] += (unsigned char)n;
	if (came[fd] < MESSAGE)
		return;
	came[fd] = 0;
	nr_requests++;
	ask(fd);
}

static void talk(int epoll_fd, double until)
{
	struct epoll_event events[MOST_EVENTS];

	do {
		for (int look = 0; look < NR_LOOKS; look++) {
			int nr = epoll_wait(epoll_fd, events, MOST_EVENTS, 100);

			for (int i = 0; i < nr; i++)
				hear(events[i].data.fd);
		}
	} while (seconds(CLOCK_MONOTONIC) < until);
}

static void allow_descriptors(int nr)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		die("getrlimit");
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < (rlim_t)nr + 16) {
		printf("impossible: only %lu descriptors are allowed\n",
		       (unsigned long)limit.rlim_cur);
		exit(77);
	}
}

/*
 * Waits until each connection has a thread before any thread is busy: beside
 * thousands of busy threads the kernel hardly lets the server's first thread
 * accept.
 */
static int begin(int port, int nr)
{
	static int fds[MOST];
	int epoll_fd = epoll_create1(0);

	for (int i = 0; i < nr; i++) {
		struct epoll_event event = { .events = EPOLLIN };
		char answer[MESSAGE];

		event.data.fd = fds[i] = connect_to(port);
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
			die("epoll_ctl");
		ask(fds[i]);
		if (recv(fds[i], answer, MESSAGE, MSG_WAITALL) != MESSAGE)
			die("first answer");
	}
	for (int i = 0; i < nr; i++)
		ask(fds[i]);
	return epoll_fd;
}

int main(int argc, char **argv)
{
	clockid_t server;
	double length, start, cpu, before, memory, threads, of_kernel;
	int nr_connections, epoll_fd;

	if (argc != 5) {
		fprintf(stderr, "usage: client PID PORT CONNECTIONS SECONDS\n");
		return 2;
	}
	nr_connections = atoi(argv[3]);
	length = strtod(argv[4], NULL);
	errno = clock_getcpuclockid(atoi(argv[1]), &server);
	if (errno != 0)
		die("the server's clock");
	memset(message, 'm', sizeof(message));
	allow_descriptors(nr_connections);
	of_kernel = of_kernel_kib();
	before = memory_kib(argv[1], of_kernel, &threads);
	epoll_fd = begin(atoi(argv[2]), nr_connections);
	talk(epoll_fd, seconds(CLOCK_MONOTONIC) + warm_up * length);
	memory = memory_kib(argv[1], of_kernel, &threads);
	nr_requests = 0;
	cpu = seconds(server);
	start = seconds(CLOCK_MONOTONIC);
	talk(epoll_fd, start + length);
	cpu = seconds(server) - cpu;
	length = seconds(CLOCK_MONOTONIC) - start;
	printf("cpu_us %.4g\n", cpu * 1e6 / (double)nr_requests);
	printf("requests %.6g\n", (double)nr_requests / length);
	printf("memory_kib %.4g\n", (memory - before) / nr_connections);
	printf("kernel_kib %.4g\n", of_kernel);
	printf("threads %.0f\n", threads);
	return 0;
}
