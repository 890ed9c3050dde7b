/* SPDX-License-Identifier: MIT */
/*
 * Two network namespaces with a slow network between them, for kernels without
 * netem:
 *
 *     delay MICROSECONDS
 *
 * Each namespace has a TUN device "slow0" with the address 10.77.0.1 or
 * 10.77.0.2. The program prints the path of each namespace, to be entered by
 * `nsenter --net=PATH`, and moves packets from one device to the other
 * MICROSECONDS after they arrived. It ends at the end of its input, and the
 * namespaces end with their last process. /proc/net/dev of a namespace has the
 * byte counters of its device.
 *
 * Without the right to make all this it prints "impossible: WHY" and exits with
 * status 77.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	IMPOSSIBLE = 77,
	/* A device's packets have up to MTU bytes. */
	MTU = 1500,
	/* Packets in flight in one direction. Further packets wait in the
	 * device's own queue. */
	QUEUE = 1024,
};

struct packet {
	int64_t due_ns;
	size_t size;
	char bytes[MTU];
};

/* A ring: packets leave in the order in which they came, because all have the
 * same delay. */
struct direction {
	int from, to;
	unsigned int head, tail;
	struct packet packets[QUEUE];
};

static struct direction directions[2];

static _Noreturn void impossible(const char *call)
{
	printf("impossible: %s: %s\n", call, strerror(errno));
	exit(IMPOSSIBLE);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* --- the namespaces ------------------------------------------------------ */

static void set_up(int socket, const char *device)
{
	struct ifreq request = { 0 };

	strncpy(request.ifr_name, device, IFNAMSIZ - 1);
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(socket, SIOCSIFFLAGS, &request) != 0)
		impossible("SIOCSIFFLAGS");
}

static void set_address(int socket, unsigned long call, const char *text)
{
	struct ifreq request = { .ifr_name = "slow0" };
	struct sockaddr_in address = { .sin_family = AF_INET };

	inet_pton(AF_INET, text, &address.sin_addr);
	memcpy(&request.ifr_addr, &address, sizeof(address));
	if (ioctl(socket, call, &request) != 0)
		impossible("SIOCSIFADDR");
}

/* Makes a namespace, enters it and makes its devices. Returns the descriptor of
 * its TUN device, and prints the namespace's path. */
static int make_namespace(const char *address)
{
	struct ifreq request = { .ifr_name = "slow0",
				 .ifr_flags = IFF_TUN | IFF_NO_PI };
	int device, s, space;

	if (unshare(CLONE_NEWNET) != 0)
		impossible("unshare(CLONE_NEWNET)");
	device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (device < 0)
		impossible("/dev/net/tun");
	if (ioctl(device, TUNSETIFF, &request) != 0)
		impossible("TUNSETIFF");
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0)
		impossible("socket");
	set_up(s, "lo");
	set_address(s, SIOCSIFADDR, address);
	set_address(s, SIOCSIFNETMASK, "255.255.255.0");
	set_up(s, "slow0");
	close(s);
	space = open("/proc/self/ns/net", O_RDONLY);
	if (space < 0)
		impossible("/proc/self/ns/net");
	printf("/proc/%d/fd/%d\n", (int)getpid(), space);
	return device;
}

/* --- the relay ----------------------------------------------------------- */

static unsigned int length(const struct direction *d)
{
	return d->tail - d->head;
}

static void take(struct direction *d, int64_t delay_ns)
{
	while (length(d) < QUEUE) {
		struct packet *p = &d->packets[d->tail % QUEUE];
		ssize_t size = read(d->from, p->bytes, sizeof(p->bytes));

		if (size <= 0)
			return;
		p->size = (size_t)size;
		p->due_ns = now_ns() + delay_ns;
		d->tail++;
	}
}

/* A packet that the device refuses is lost, as on any network. */
static void deliver(struct direction *d)
{
	for (; length(d) > 0; d->head++) {
		const struct packet *p = &d->packets[d->head % QUEUE];

		if (p->due_ns > now_ns())
			return;
		if (write(d->to, p->bytes, p->size) < 0 && errno != EAGAIN)
			perror("delay: a packet is lost");
	}
}

/* Until the next packet is due; -1: none is in flight. */
static int64_t next_ns(void)
{
	int64_t next = -1, now = now_ns();

	for (int i = 0; i < 2; i++) {
		const struct direction *d = &directions[i];
		int64_t left;

		if (length(d) == 0)
			continue;
		left = d->packets[d->head % QUEUE].due_ns - now;
		left = left > 0 ? left : 0;
		if (next < 0 || left < next)
			next = left;
	}
	return next;
}

static void relay(int64_t delay_ns)
{
	struct pollfd files[3] = { { .fd = STDIN_FILENO, .events = POLLIN } };
	char byte;

	for (;;) {
		int64_t ns = next_ns();
		struct timespec timeout = { ns / 1000000000, ns % 1000000000 };

		for (int i = 0; i < 2; i++) {
			struct direction *d = &directions[i];

			/* -1: poll() passes over a full direction. */
			files[1 + i].fd = length(d) < QUEUE ? d->from : -1;
			files[1 + i].events = POLLIN;
		}
		ppoll(files, 3, ns < 0 ? NULL : &timeout, NULL);
		if (files[0].revents != 0 && read(STDIN_FILENO, &byte, 1) <= 0)
			return;
		for (int i = 0; i < 2; i++) {
			take(&directions[i], delay_ns);
			deliver(&directions[i]);
		}
	}
}

int main(int argc, char **argv)
{
	char *end = NULL;
	long us = argc == 2 ? strtol(argv[1], &end, 10) : -1;

	if (us < 0 || us > 10000000 || end == argv[1] || *end != '\0') {
		fprintf(stderr, "usage: delay MICROSECONDS  (0 to 10000000)\n");
		return 2;
	}
	directions[0].from = make_namespace("10.77.0.1");
	directions[1].from = make_namespace("10.77.0.2");
	directions[0].to = directions[1].from;
	directions[1].to = directions[0].from;
	fflush(stdout);
	/* The kernel would add 50 us to each wait. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	relay(us * 1000);
	return 0;
}
