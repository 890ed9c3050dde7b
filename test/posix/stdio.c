/* SPDX-License-Identifier: MIT */
/*
 * Calls that wait inside libc, where no wrapper sees them: stdio on pipes and
 * sockets, commands, host names. Other threads run meanwhile, among them those
 * that end the wait.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "waiting.h"

enum { NR = 20, BLOCK = 3 << 16 };

static int ends[NR][2];
static _Atomic int nr_waiting, nr_done;

static void make_pipes(void)
{
	for (int i = 0; i < NR; i++)
		CHECK_EQ(pipe(ends[i]), 0);
}

static void make_sockets(void)
{
	for (int i = 0; i < NR; i++)
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), 0);
}

static FILE *stream(int fd, const char *mode)
{
	FILE *f = fdopen(fd, mode);

	CHECK(f != NULL);
	return f;
}

/* --- streams -------------------------------------------------------------- */

static void *read_lines(void *arg)
{
	FILE *f = stream(ends[(intptr_t)arg][0], "r");
	char *line = NULL;
	size_t room = 0;

	nr_waiting++;
	CHECK_EQ(getline(&line, &room, f), 6);
	CHECK(strcmp(line, "first\n") == 0);
	CHECK_EQ(getline(&line, &room, f), 7);
	CHECK_EQ(getline(&line, &room, f), -1);
	CHECK(feof(f));
	free(line);
	CHECK_EQ(fclose(f), 0);
	return NULL;
}

static void lines_are_read(void)
{
	pthread_t threads[NR];

	threads_start_numbered(threads, NR, read_lines);
	await_count(&nr_waiting, NR);
	others_go_on();
	for (int i = 0; i < NR; i++) {
		FILE *f = stream(ends[i][1], "w");

		fprintf(f, "%s\n", "first");
		CHECK_EQ(fflush(f), 0);
		sched_yield();
		fprintf(f, "%s\n", "second");
		CHECK_EQ(fclose(f), 0);
	}
	threads_join(threads, NR);
}

TEST(lines_from_pipes)
{
	make_pipes();
	lines_are_read();
}

TEST(lines_from_sockets)
{
	make_sockets();
	lines_are_read();
}

static void *print_block(void *arg)
{
	FILE *f = stream(ends[(intptr_t)arg][1], "w");

	nr_waiting++;
	CHECK_EQ(fprintf(f, "%*d", BLOCK, 7), BLOCK);
	CHECK_EQ(fclose(f), 0);
	nr_done++;
	return NULL;
}

static void *read_block(void *arg)
{
	FILE *f = stream(ends[(intptr_t)arg][0], "r");
	char *block = malloc(BLOCK + 1);

	CHECK(block != NULL);
	CHECK_EQ(fread(block, 1, BLOCK + 1, f), BLOCK);
	CHECK_EQ(block[BLOCK - 1], '7');
	free(block);
	CHECK_EQ(fclose(f), 0);
	return NULL;
}

TEST(full_pipes)
{
	pthread_t writers[NR], readers[NR];

	make_pipes();
	threads_start_numbered(writers, NR, print_block);
	await_count(&nr_waiting, NR);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	threads_start_numbered(readers, NR, read_block);
	threads_join(writers, NR);
	threads_join(readers, NR);
}

/* All threads share this stream; one holds its lock while it waits. */
static FILE *common;

static void *scan_number(void *arg)
{
	int number = 0;

	nr_waiting++;
	CHECK_EQ(fscanf(common, "%d", &number), 1);
	return (void *)(intptr_t)number;
}

TEST(one_stream_for_all)
{
	pthread_t threads[NR];
	long sum = 0;

	make_pipes();
	common = stream(ends[0][0], "r");
	threads_start(threads, NR, scan_number, NULL);
	await_count(&nr_waiting, NR);
	others_go_on();
	for (int i = 1; i <= NR; i++)
		dprintf(ends[0][1], "%d\n", i);
	for (int i = 0; i < NR; i++)
		sum += result_of(threads[i]);
	CHECK_EQ(sum, NR * (NR + 1) / 2);
}

/* --- programs ------------------------------------------------------------- */

static void *run_shell(void *arg)
{
	int number = (int)(intptr_t)arg;
	char command[64];

	snprintf(command, sizeof(command), "read x </dev/fd/%d; exit %d",
		 ends[number][0], number);
	nr_waiting++;
	CHECK_EQ(system(command), number << 8);
	nr_done++;
	return NULL;
}

/* Five threads each run a shell that waits for a line. */
static void wait_for_shells(void *(*start)(void *))
{
	pthread_t threads[5];

	make_pipes();
	threads_start_numbered(threads, 5, start);
	await_count(&nr_waiting, 5);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(write(ends[i][1], "\n", 1), 1);
	threads_join(threads, 5);
}

TEST(system_waits)
{
	wait_for_shells(run_shell);
}

static void *run_filter(void *arg)
{
	int number = (int)(intptr_t)arg;
	char command[64];
	FILE *f;

	snprintf(command, sizeof(command), "read x </dev/fd/%d; exit %d",
		 ends[number][0], number);
	f = popen(command, "w");
	CHECK(f != NULL);
	nr_waiting++;
	CHECK_EQ(pclose(f), number << 8);
	nr_done++;
	return NULL;
}

TEST(pclose_waits)
{
	wait_for_shells(run_filter);
}

/* --- names of hosts ------------------------------------------------------- */

static int name_server;
static struct sockaddr_in server_address;

/*
 * The answer's tail: a pointer to the name, an IPv4 address, class IN, one
 * hour.
 */
static const unsigned char answer[] = { 0xc0, 12, 0, 1, 0,  1, 0, 0,
					14,   16, 0, 4, 10, 1, 2, 3 };

enum { QR_AA_RD = 0x85, RA = 0x80, TYPE_A = 1, HEADER_BYTES = 12 };

/* Returns the offset of the question's type, after its name, or 0. */
static size_t type_at(const unsigned char *message, size_t bytes)
{
	size_t at = HEADER_BYTES;

	while (at < bytes && message[at] != 0)
		at += message[at] + 1U;
	return at + 5 <= bytes ? at + 1 : 0;
}

/* Answers questions for IPv4 addresses with 10.1.2.3 when it is told to. */
static void *serve_names(void *arg)
{
	for (;;) {
		unsigned char message[600];
		struct sockaddr_in from;
		socklen_t from_bytes = sizeof(from);
		ssize_t n = recvfrom(name_server, message, 512, 0,
				     (struct sockaddr *)&from, &from_bytes);
		size_t at = n > 0 ? type_at(message, (size_t)n) : 0;

		if (at == 0)
			return arg;
		while (nr_done == 0)
			sched_yield();
		message[2] = QR_AA_RD;
		message[3] = RA;
		memset(message + 6, 0, 6);
		n = (ssize_t)at + 4;
		if (message[at + 1] == TYPE_A) {
			message[7] = 1;
			memcpy(message + n, answer, sizeof(answer));
			n += sizeof(answer);
		}
		CHECK_EQ(sendto(name_server, message, (size_t)n, 0,
				(struct sockaddr *)&from, from_bytes),
			 n);
	}
}

static void use_name_server(void)
{
	CHECK_EQ(res_init(), 0);
	_res.nscount = 1;
	_res.nsaddr_list[0] = server_address;
	_res.retrans = 30;
	_res.options &= ~(RES_DNSRCH | RES_DEFNAMES);
}

static void *look_up(void *arg)
{
	struct addrinfo hints = { .ai_family = AF_INET,
				  .ai_socktype = SOCK_STREAM };
	struct in_addr expected = { inet_addr("10.1.2.3") };
	char name[64];

	use_name_server();
	snprintf(name, sizeof(name), "host%d.example", (int)(intptr_t)arg);
	nr_waiting++;
	if ((intptr_t)arg % 2 == 0) {
		struct addrinfo *found;

		CHECK_EQ(getaddrinfo(name, "80", &hints, &found), 0);
		CHECK(memcmp(&((struct sockaddr_in *)found->ai_addr)->sin_addr,
			     &expected, sizeof(expected)) == 0);
		freeaddrinfo(found);
	} else {
		char room[2048];
		struct hostent host, *found = NULL;
		int err;

		CHECK_EQ(gethostbyname_r(name, &host, room, sizeof(room),
					 &found, &err),
			 0);
		CHECK(found != NULL);
		CHECK(memcmp(host.h_addr_list[0], &expected,
			     sizeof(expected)) == 0);
	}
	return NULL;
}

TEST(names_of_hosts)
{
	socklen_t bytes = sizeof(server_address);
	pthread_t threads[NR], server;

	name_server = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(name_server >= 0);
	server_address.sin_family = AF_INET;
	server_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(name_server, (struct sockaddr *)&server_address, bytes),
		 0);
	CHECK_EQ(getsockname(name_server, (struct sockaddr *)&server_address,
			     &bytes),
		 0);
	server = thread_start(serve_names, NULL);
	threads_start_numbered(threads, NR, look_up);
	await_count(&nr_waiting, NR);
	others_go_on();
	nr_done = 1;
	threads_join(threads, NR);
	CHECK_EQ(sendto(name_server, "", 0, 0,
			(struct sockaddr *)&server_address, bytes),
		 0);
	thread_join(server);
}
