/* SPDX-License-Identifier: MIT */
/* Channels between threads of a process, and the results of their calls. */
#include "channel.h"

#include <stdio.h>
#include <stdlib.h>

static void *send_numbers(void *arg)
{
	struct weft_channel *c = channel_sender((int)(intptr_t)arg);

	for (long i = 0; i < 20000; i++)
		channel_put(c, i);
	CHECK_EQ(weft_channel_close(c), 0);
	return NULL;
}

TEST(threads_send_and_receive_in_order)
{
	int fd = channel_make(8, 15, 0);
	struct weft_channel *in = channel_receiver(fd);
	pthread_t t = thread_start(send_numbers, (void *)(intptr_t)fd);

	for (long i = 0; i < 20000; i++)
		CHECK_EQ(channel_get(in), i);
	CHECK_EQ(channel_get_error(in), EPIPE);
	CHECK_EQ(channel_get_error(in), EPIPE);
	thread_join(t);
	CHECK_EQ(weft_channel_close(in), 0);
}

enum { MANY_SENDERS = 6, MANY_EACH = 3000 };
static struct weft_channel *many_out[MANY_SENDERS];

static void *send_marked(void *arg)
{
	struct weft_channel *c = many_out[(intptr_t)arg];

	for (long i = 0; i < MANY_EACH; i++)
		channel_put(c, (long)(intptr_t)arg * MANY_EACH + i);
	CHECK_EQ(weft_channel_close(c), 0);
	return NULL;
}

/* Each message of a sender arrives exactly once, in the order of sending. */
TEST(many_threads_send_to_one)
{
	int fd = channel_make(8, 7, WEFT_CHANNEL_MANY);
	struct weft_channel *in = channel_receiver(fd);
	pthread_t threads[MANY_SENDERS];
	long next[MANY_SENDERS] = { 0 };

	for (int i = 0; i < MANY_SENDERS; i++)
		many_out[i] = channel_sender(fd);
	threads_start_numbered(threads, MANY_SENDERS, send_marked);
	for (long i = 0; i < MANY_SENDERS * MANY_EACH; i++) {
		long value = channel_get(in);

		CHECK_EQ(value % MANY_EACH, next[value / MANY_EACH]++);
	}
	threads_join(threads, MANY_SENDERS);
	CHECK_EQ(channel_get_error(in), EPIPE);
}

TEST(sizes_from_nothing_to_64_KiB)
{
	static const size_t sizes[] = { 0, 1, 48, 49, 4096, 65535, 65536 };
	static unsigned char sent[65536], got[65536];
	int fd = channel_make(65536, 3, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = SIZE_MAX;

		for (size_t k = 0; k < sizes[i]; k++)
			sent[k] = (unsigned char)(k * 7 + i);
		memset(got, 0, sizeof(got));
		CHECK_EQ(weft_channel_send(out, sent, sizes[i]), 0);
		CHECK_EQ(weft_channel_receive(in, got, sizeof(got), &size), 0);
		CHECK_EQ(size, sizes[i]);
		CHECK(memcmp(sent, got, sizes[i]) == 0);
	}
	CHECK_EQ(weft_channel_send(out, sent, 65537), EMSGSIZE);
}

TEST(a_message_too_large_stays)
{
	int fd = channel_make(8, 3, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);
	char small[4];
	size_t size = 0;

	channel_put(out, 42);
	CHECK_EQ(weft_channel_receive(in, small, sizeof(small), &size),
		 EMSGSIZE);
	CHECK_EQ(size, 8);
	CHECK_EQ(channel_get(in), 42);
}

TEST(try_does_not_wait)
{
	int fd = channel_make(8, 3, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);
	long value = 1;
	size_t size;
	int nr = 0;

	CHECK_EQ(weft_channel_try_receive(in, &value, 8, &size), EAGAIN);
	while (weft_channel_try_send(out, &value, 8) == 0)
		nr++;
	CHECK(nr >= 3);
	CHECK_EQ(weft_channel_try_send(out, &value, 8), EAGAIN);
	for (; nr > 0; nr--)
		CHECK_EQ(weft_channel_try_receive(in, &value, 8, &size), 0);
	CHECK_EQ(weft_channel_try_receive(in, &value, 8, &size), EAGAIN);
	CHECK_EQ(weft_channel_try_send(out, &value, 8), 0);
}

TEST(deadlines_are_kept)
{
	int fd = channel_make(8, 1, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);
	struct timespec soon = deadline_ms(CLOCK_MONOTONIC, 120);
	struct timespec past = { 0, 0 }, bad = { 0, NS_PER_S };
	int64_t start = now_ns();
	long value = 1;
	size_t size;

	CHECK_EQ(weft_channel_receive_until(in, &value, 8, &size, &soon),
		 ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 119);
	CHECK_EQ(weft_channel_receive_until(in, &value, 8, &size, &past),
		 ETIMEDOUT);
	CHECK_EQ(weft_channel_receive_until(in, &value, 8, &size, &bad),
		 EINVAL);
	while (weft_channel_try_send(out, &value, 8) == 0)
		;
	start = now_ns();
	soon = deadline_ms(CLOCK_MONOTONIC, 30);
	CHECK_EQ(weft_channel_send_until(out, &value, 8, &soon), ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 29);
	CHECK_EQ(weft_channel_send_until(out, &value, 8, &bad), EINVAL);
}

static void *send_late(void *arg)
{
	await_rest();
	channel_put(arg, 7);
	return NULL;
}

TEST(a_waiting_receiver_is_woken)
{
	int fd = channel_make(8, 1, 0);
	struct weft_channel *in = channel_receiver(fd);
	pthread_t t = thread_start(send_late, channel_sender(fd));

	CHECK_EQ(channel_get(in), 7);
	thread_join(t);
}

static void *receive_late(void *arg)
{
	for (long i = 0; i < 5; i++) {
		await_rest();
		CHECK_EQ(channel_get(arg), i);
	}
	return NULL;
}

TEST(a_waiting_sender_is_woken)
{
	int fd = channel_make(8, 1, 0);
	pthread_t t = thread_start(receive_late, channel_receiver(fd));
	struct weft_channel *out = channel_sender(fd);

	for (long i = 0; i < 5; i++)
		channel_put(out, i);
	thread_join(t);
}

TEST(batches)
{
	int fd = channel_make(8, 31, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);
	long sent[20], got[30];
	struct iovec give[20], take[30];
	size_t nr;

	for (long i = 0; i < 20; i++) {
		sent[i] = i;
		give[i] = (struct iovec){ &sent[i], 8 };
	}
	for (long i = 0; i < 30; i++)
		take[i] = (struct iovec){ &got[i], 8 };
	CHECK_EQ(weft_channel_send_batch_until(out, give, 20, &nr, NULL), 0);
	CHECK_EQ(nr, 20);
	CHECK_EQ(weft_channel_receive_batch_until(in, take, 5, &nr, NULL), 0);
	CHECK_EQ(nr, 5);
	take[5].iov_len = 3; /* too small: the batch ends before this message */
	CHECK_EQ(weft_channel_receive_batch_until(in, take, 30, &nr, NULL), 0);
	CHECK_EQ(nr, 5);
	CHECK_EQ(weft_channel_receive_batch_until(in, take + 5, 1, &nr, NULL),
		 EMSGSIZE);
	CHECK_EQ(nr, 0);
	CHECK_EQ(take[5].iov_len, 8);
	CHECK_EQ(weft_channel_receive_batch_until(in, take, 30, &nr, NULL), 0);
	CHECK_EQ(nr, 10);
	for (long i = 0; i < 10; i++)
		CHECK_EQ(got[i], 10 + i);
	give[3].iov_len = 9;
	CHECK_EQ(weft_channel_send_batch_until(out, give, 20, &nr, NULL),
		 EMSGSIZE);
	CHECK_EQ(nr, 3);
}

static void *receive_batches(void *arg)
{
	long got[7], next = 0;
	struct iovec take[7];
	size_t nr;

	while (next < 1000) {
		for (int i = 0; i < 7; i++)
			take[i] = (struct iovec){ &got[i], 8 };
		CHECK_EQ(weft_channel_receive_batch_until(arg, take, 7, &nr,
							  NULL),
			 0);
		CHECK(nr >= 1);
		for (size_t i = 0; i < nr; i++)
			CHECK_EQ(got[i], next++);
	}
	return NULL;
}

TEST(a_batch_larger_than_the_ring)
{
	int fd = channel_make(8, 3, 0);
	pthread_t t = thread_start(receive_batches, channel_receiver(fd));
	struct weft_channel *out = channel_sender(fd);
	static long sent[1000];
	static struct iovec give[1000];
	size_t nr;

	for (long i = 0; i < 1000; i++) {
		sent[i] = i;
		give[i] = (struct iovec){ &sent[i], 8 };
	}
	CHECK_EQ(weft_channel_send_batch_until(out, give, 1000, &nr, NULL), 0);
	CHECK_EQ(nr, 1000);
	thread_join(t);
}

TEST(messages_in_place)
{
	int fd = channel_make(1000, 3, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);
	const void *message, *again;
	void *room;
	size_t size;

	CHECK_EQ(weft_channel_commit(out, 1), EINVAL);
	CHECK_EQ(weft_channel_release(in), EINVAL);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(weft_channel_reserve_until(out, &room, NULL), 0);
		CHECK_EQ((uintptr_t)room % 16, 0);
		memset(room, i, 1000);
		CHECK_EQ(weft_channel_send(out, "x", 1), EBUSY);
		CHECK_EQ(weft_channel_commit(out, 1001), EMSGSIZE);
		CHECK_EQ(weft_channel_commit(out, 1000), 0);
		CHECK_EQ(weft_channel_peek_until(in, &message, &size, NULL), 0);
		CHECK_EQ(weft_channel_peek_until(in, &again, &size, NULL), 0);
		CHECK(message == again);
		CHECK_EQ(size, 1000);
		CHECK_EQ(((const char *)message)[999], i);
		CHECK_EQ(weft_channel_release(in), 0);
		CHECK_EQ(weft_channel_release(in), EINVAL);
	}
}

TEST(abandoned_messages_are_not_sent)
{
	for (uint32_t flags = 0; flags <= WEFT_CHANNEL_MANY; flags++) {
		int fd = channel_make(8, 3, flags);
		struct weft_channel *in = channel_receiver(fd);
		struct weft_channel *out = channel_sender(fd);

		for (long i = 0; i < 20; i++) {
			void *room;

			CHECK_EQ(weft_channel_reserve_until(out, &room, NULL),
				 0);
			CHECK_EQ(weft_channel_abandon(out), 0);
			CHECK_EQ(weft_channel_abandon(out), EINVAL);
			channel_put(out, i);
			CHECK_EQ(channel_get(in), i);
		}
	}
}

TEST(closing_gives_a_reservation_up)
{
	int fd = channel_make(8, 3, WEFT_CHANNEL_MANY);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *first = channel_sender(fd);
	struct weft_channel *second = channel_sender(fd);
	void *room;

	CHECK_EQ(weft_channel_reserve_until(first, &room, NULL), 0);
	channel_put(second, 2);
	CHECK_EQ(weft_channel_close(first), 0);
	CHECK_EQ(channel_get(in), 2);
}

TEST(each_end_is_taken_once)
{
	int fd = channel_make(8, 3, 0);
	struct weft_channel *c = channel_sender(fd), *other;

	CHECK_EQ(weft_channel_open(fd, WEFT_CHANNEL_SENDER, &other), EBUSY);
	CHECK_EQ(weft_channel_close(c), 0);
	c = channel_sender(fd);
	channel_receiver(fd);
	CHECK_EQ(weft_channel_open(fd, WEFT_CHANNEL_RECEIVER, &other), EBUSY);
	CHECK_EQ(weft_channel_open(fd, 2, &other), EINVAL);
	CHECK_EQ(channel_get_error(c), EBADF);
}

TEST(sixty_four_senders)
{
	int fd = channel_make(8, 63, WEFT_CHANNEL_MANY);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out[WEFT_CHANNEL_SENDERS_MAX], *other;

	for (long i = 0; i < WEFT_CHANNEL_SENDERS_MAX; i++)
		out[i] = channel_sender(fd);
	CHECK_EQ(weft_channel_open(fd, WEFT_CHANNEL_SENDER, &other), EBUSY);
	for (long i = 0; i < WEFT_CHANNEL_SENDERS_MAX; i++) {
		channel_put(out[i], i);
		CHECK_EQ(weft_channel_close(out[i]), 0);
	}
	for (long i = 0; i < WEFT_CHANNEL_SENDERS_MAX; i++)
		CHECK_EQ(channel_get(in), i);
	CHECK_EQ(channel_get_error(in), EPIPE);
	other = channel_sender(fd);
	channel_put(other, 5);
	CHECK_EQ(channel_get(in), 5);
}

TEST(a_closed_receiver_is_reported)
{
	int fd = channel_make(8, 3, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);
	long value = 1;

	channel_put(out, 1);
	CHECK_EQ(weft_channel_close(in), 0);
	CHECK_EQ(weft_channel_send(out, &value, 8), EPIPE);
	CHECK_EQ(weft_channel_try_send(out, &value, 8), EPIPE);
	/* The next receiver finds the messages that are still in the queue. */
	in = channel_receiver(fd);
	channel_put(out, 2);
	CHECK_EQ(channel_get(in), 1);
	CHECK_EQ(channel_get(in), 2);
}

static void *close_late(void *arg)
{
	await_rest();
	CHECK_EQ(weft_channel_close(arg), 0);
	return NULL;
}

TEST(closing_ends_waits)
{
	int fd = channel_make(8, 1, 0);
	struct weft_channel *in = channel_receiver(fd);
	struct weft_channel *out = channel_sender(fd);
	pthread_t t = thread_start(close_late, out);
	long value = 1;

	CHECK_EQ(channel_get_error(in), EPIPE);
	thread_join(t);
	out = channel_sender(fd);
	while (weft_channel_try_send(out, &value, 8) == 0)
		;
	t = thread_start(close_late, in);
	CHECK_EQ(weft_channel_send(out, &value, 8), EPIPE);
	thread_join(t);
}

TEST(bad_attributes)
{
	static const struct weft_channel_attr bad[] = {
		{ .message_size = 0, .messages = 1 },
		{ .message_size = 65537, .messages = 1 },
		{ .message_size = 1, .messages = 0 },
		{ .message_size = 1, .messages = 1U << 20 },
		{ .message_size = 1, .messages = 1, .flags = 2 },
		{ .message_size = 1, .messages = 1, .mode = 01000 },
	};
	int fd = -5;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(weft_channel_create(&bad[i], &fd), EINVAL);
	CHECK_EQ(fd, -5);
}

static bool has_huge_shared_pages(void)
{
	FILE *f =
		fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "r");
	char line[100] = "[never]";

	if (f != NULL && fgets(line, sizeof(line), f) != NULL)
		fclose(f);
	return strstr(line, "[never]") == NULL &&
	       strstr(line, "[advise]") == NULL;
}

/* A queue takes memory only as messages fill it. */
TEST(room_is_not_taken_before_it_is_used)
{
	int fd = channel_make(65536, 1000, 0);
	struct stat st;

	if (has_huge_shared_pages())
		SKIP("huge pages are taken as a whole");
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(st.st_size >= 1000 * 65536);
	CHECK(st.st_blocks * 512 < st.st_size / 4);
}
