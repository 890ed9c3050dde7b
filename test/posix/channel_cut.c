/* SPDX-License-Identifier: MIT */
/* Channels with names; a peer makes their files shorter. */
#include "channel.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static char channel_name[64], path[80];

static struct weft_channel *open_name(int end)
{
	struct weft_channel *c;

	CHECK_EQ(weft_channel_open_named(channel_name, end, &c), 0);
	return c;
}

static void make_name(uint32_t flags)
{
	struct weft_channel_attr attr = { .message_size = 5000,
					  .messages = 3,
					  .flags = flags };

	snprintf(channel_name, sizeof(channel_name), "/weft-cut-%d",
		 (int)getpid());
	snprintf(path, sizeof(path), "/dev/shm%s", channel_name);
	CHECK_EQ(weft_channel_create_named(channel_name, &attr), 0);
}

static void cut(void)
{
	CHECK_EQ(truncate(path, 0), 0);
	CHECK_EQ(unlink(path), 0);
}

static int put_error(struct weft_channel *c)
{
	long value = 1;
	int rc;

	/* A send may still succeed before the end notices the cut. */
	do
		rc = weft_channel_send(c, &value, sizeof(value));
	while (rc == 0);
	return rc;
}

TEST(a_receiver)
{
	struct weft_channel *in, *out;

	make_name(0);
	in = open_name(WEFT_CHANNEL_RECEIVER);
	out = open_name(WEFT_CHANNEL_SENDER);
	channel_put(out, 1);
	channel_put(out, 2);
	CHECK_EQ(channel_get(in), 1);
	cut();
	CHECK_EQ(channel_get_error(in), EPROTO);
	CHECK_EQ(channel_get_error(in), EPROTO);
	CHECK_EQ(put_error(out), EPROTO);
	CHECK_EQ(put_error(out), EPROTO);
	CHECK_EQ(weft_channel_close(in), 0);
	CHECK_EQ(weft_channel_close(out), 0);
}

TEST(one_of_many_senders)
{
	struct weft_channel *out;

	make_name(WEFT_CHANNEL_MANY);
	out = open_name(WEFT_CHANNEL_SENDER);
	cut();
	CHECK_EQ(put_error(out), EPROTO);
	CHECK_EQ(weft_channel_close(out), 0);
}

static _Atomic int is_ready;

static void *receive(void *arg)
{
	struct weft_channel *in = open_name(WEFT_CHANNEL_RECEIVER);
	struct timespec late = deadline_ms(CLOCK_MONOTONIC, 10000);
	long value;
	size_t size;

	is_ready = 1;
	CHECK_EQ(weft_channel_receive_until(in, &value, sizeof(value), &size,
					    &late),
		 EPROTO);
	CHECK_EQ(weft_channel_close(in), 0);
	return arg;
}

static void *fill(void *arg)
{
	struct weft_channel *out = open_name(WEFT_CHANNEL_SENDER);

	is_ready = 1;
	CHECK_EQ(put_error(out), EPROTO);
	CHECK_EQ(weft_channel_close(out), 0);
	return arg;
}

static void is_cut_while_in(void *(*start)(void *))
{
	pthread_t thread;

	make_name(0);
	thread = thread_start(start, NULL);
	let_it_wait(&is_ready);
	cut();
	thread_join(thread);
}

TEST(while_a_receiver_waits)
{
	is_cut_while_in(receive);
}

TEST(while_a_sender_waits)
{
	is_cut_while_in(fill);
}

TEST(messages_in_place)
{
	struct weft_channel *in, *out;
	const void *message;
	void *room;
	size_t size;

	make_name(0);
	in = open_name(WEFT_CHANNEL_RECEIVER);
	out = open_name(WEFT_CHANNEL_SENDER);
	channel_put(out, 77);
	CHECK_EQ(weft_channel_peek_until(in, &message, &size, NULL), 0);
	CHECK_EQ(*(const long *)message, 77);
	CHECK_EQ(weft_channel_reserve_until(out, &room, NULL), 0);
	cut();
	CHECK_EQ(*(const volatile long *)message, 0);
	memset(room, 1, 5000);
	CHECK_EQ(weft_channel_commit(out, 5000), 0);
	CHECK_EQ(put_error(out), EPROTO);
	CHECK_EQ(weft_channel_release(in), 0);
	CHECK_EQ(channel_get_error(in), EPROTO);
}

/* A peer cuts the file before it is opened, or has never written all of it. */
TEST(too_small_from_the_start)
{
	struct weft_channel *c;

	make_name(0);
	CHECK_EQ(truncate(path, 4096), 0);
	CHECK_EQ(weft_channel_open_named(channel_name, WEFT_CHANNEL_SENDER, &c),
		 EPROTO);
	CHECK_EQ(truncate(path, 10), 0);
	CHECK_EQ(weft_channel_open_named(channel_name, WEFT_CHANNEL_SENDER, &c),
		 EPROTO);
	cut();
}

/* --- faults outside of channels ------------------------------------------- */

/*
 * Maps a page beyond the end of its file while an end of a channel is open: a
 * fault there is the program's.
 */
static volatile char *page_without_memory(void)
{
	int fd = memfd_create("small", 0);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	CHECK(page != MAP_FAILED);
	make_name(0);
	open_name(WEFT_CHANNEL_RECEIVER);
	CHECK_EQ(unlink(path), 0);
	return page;
}

static void fault(void)
{
	*page_without_memory();
}

TEST(other_faults_are_fatal)
{
	CHECK_EQ(child_signal(fault), SIGBUS);
	signal(SIGBUS, SIG_IGN);
	CHECK_EQ(child_signal(fault), SIGBUS);
}

static void send_itself_one(void)
{
	page_without_memory();
	raise(SIGBUS);
}

TEST(a_signal_that_is_no_fault)
{
	CHECK_EQ(child_signal(send_itself_one), SIGBUS);
	signal(SIGBUS, SIG_IGN);
	CHECK_EQ(child_exit_status(send_itself_one), 0);
}

static sigjmp_buf before_the_fault;
static volatile void *fault_at;

static void jump_back(int sig, siginfo_t *info, void *context)
{
	fault_at = info->si_addr;
	siglongjmp(before_the_fault, sig);
}

TEST(the_handler_that_was_there)
{
	struct sigaction action = { .sa_sigaction = jump_back,
				    .sa_flags = SA_SIGINFO };
	volatile char *page;

	CHECK_EQ(sigaction(SIGBUS, &action, NULL), 0);
	page = page_without_memory();
	for (int i = 0; i < 2; i++) {
		fault_at = NULL;
		if (sigsetjmp(before_the_fault, 1) == 0)
			*page;
		CHECK(fault_at == page);
	}
}
