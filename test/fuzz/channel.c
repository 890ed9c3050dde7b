/* SPDX-License-Identifier: MIT */
/*
 * A channel with a peer that writes anything into its memory, or shrinks its
 * named file, between any two calls of an honest end. No call may fault, read
 * outside the memory, run for ever, or return a message that is too large.
 *
 * The input is a program. Its first byte has the channel's flags, size and
 * kind; then each byte is one step, and the bytes after it are operands. Built
 * with libFuzzer it is a fuzzer (`build/test/fuzz/fuzz_channel`). With driver.c
 * it runs inputs that a seed makes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft/channel.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 200
#define MESSAGE_SIZE 40

struct state {
	const uint8_t *data;
	size_t left;
	uint32_t message_size;
	int fd;	      /* the hostile peer's descriptor */
	size_t bytes; /* first size of the file */
	/*
	 * Largest message that may be received. A peer may have changed the
	 * header; if the new value is valid, an opener uses it.
	 */
	size_t most;
	int is_named, is_changed;
	struct weft_channel *out, *in; /* NULL while closed */
};

static char name[40], path[60];

static void require(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "fuzz_channel: %s\n", what);
		abort();
	}
}

static unsigned int next(struct state *s)
{
	if (s->left == 0)
		return 0;
	s->left--;
	return *s->data++;
}

static uint64_t next_value(struct state *s, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value = value << 8 | next(s);
	return value;
}

/* These errors are correct answers to invalid memory. */
static void judge(int rc)
{
	switch (rc) {
	case 0:
	case EAGAIN:
	case ETIMEDOUT:
	case EPROTO:
	case EPIPE:
	case EOWNERDEAD:
	case EMSGSIZE:
	case EBUSY:
	case EINVAL:
		return;
	default:
		require(0, strerror(rc));
	}
}

/* Overwrites any aligned word by an interesting value, or by any value. */
static void scribble(struct state *s)
{
	size_t at = next_value(s, 2) * 8 % s->bytes;
	unsigned int how = next(s);
	uint64_t value, old = 0;

	require(pread(s->fd, &old, 8, (off_t)at) >= 0, "pread");
	switch (how % 6) {
	case 0:
		value = next_value(s, 8);
		break;
	case 1: /* changes state, sender or position in a slot's word */
		value = old ^ 1ULL << (next(s) % 64);
		break;
	case 2:
		value = old + (next(s) % 8 << 10);
		break;
	case 3:
		value = old - (next(s) % 8 << 10);
		break;
	case 4:
		value = UINT64_MAX;
		break;
	default:
		value = next(s);
	}
	require(pwrite(s->fd, &value, 8, (off_t)at) == 8, "pwrite");
	s->is_changed = 1;
}

/* Shrinks the file, or lets it grow again. */
static void shrink(struct state *s)
{
	size_t bytes = next_value(s, 2) % (s->bytes + 1);

	require(ftruncate(s->fd, (off_t)bytes) == 0, "ftruncate");
}

static void open_end(struct state *s, struct weft_channel **end, int which)
{
	int rc;

	if (*end != NULL) {
		weft_channel_close(*end);
		*end = NULL;
		return;
	}
	rc = s->is_named ? weft_channel_open_named(name, which, end) :
			   weft_channel_open(s->fd, which, end);
	judge(rc);
	if (which == WEFT_CHANNEL_RECEIVER)
		s->most = s->is_changed ? s->bytes : s->message_size;
}

static void send(struct state *s)
{
	unsigned char message[MESSAGE_SIZE] = { 1 };

	judge(weft_channel_try_send(s->out, message,
				    next(s) % (MESSAGE_SIZE + 1)));
}

static void receive(struct state *s)
{
	unsigned char buffer[MESSAGE_SIZE];
	size_t capacity = next(s) % (MESSAGE_SIZE + 1), got = 0;
	int rc = weft_channel_try_receive(s->in, buffer, capacity, &got);

	judge(rc);
	require(rc != 0 || got <= capacity, "more than the buffer holds");
}

static void reserve(struct state *s)
{
	struct timespec now = { 0, 0 };
	void *room;
	int rc = weft_channel_reserve_until(s->out, &room, &now);

	judge(rc);
	if (rc == 0)
		memset(room, 0x5a, s->message_size);
}

static void peek(struct state *s)
{
	struct timespec now = { 0, 0 };
	const void *message;
	size_t got;
	int rc = weft_channel_peek_until(s->in, &message, &got, &now);
	unsigned int sum = 0;

	judge(rc);
	if (rc != 0)
		return;
	require(got <= s->most, "a message larger than the channel's");
	for (size_t i = 0; i < got; i++)
		sum += ((const volatile unsigned char *)message)[i];
	(void)sum;
}

static void send_batch(struct state *s)
{
	unsigned char message[MESSAGE_SIZE] = { 2 };
	struct timespec now = { 0, 0 };
	struct iovec give[5];
	size_t nr;

	for (int i = 0; i < 5; i++)
		give[i] =
			(struct iovec){ message, next(s) % (MESSAGE_SIZE + 1) };
	judge(weft_channel_send_batch_until(s->out, give, 5, &nr, &now));
	require(nr <= 5, "more than were given");
}

static void receive_batch(struct state *s)
{
	unsigned char buffer[5][MESSAGE_SIZE];
	struct timespec now = { 0, 0 };
	struct iovec take[5];
	size_t nr;

	for (int i = 0; i < 5; i++)
		take[i] = (struct iovec){ buffer[i], MESSAGE_SIZE };
	judge(weft_channel_receive_batch_until(s->in, take, 5, &nr, &now));
	require(nr <= 5, "more than there is room for");
	for (size_t i = 0; i < nr; i++)
		require(take[i].iov_len <= MESSAGE_SIZE, "a size too large");
}

static void step(struct state *s)
{
	switch (next(s) % 13) {
	case 0:
		open_end(s, &s->out, WEFT_CHANNEL_SENDER);
		return;
	case 1:
		open_end(s, &s->in, WEFT_CHANNEL_RECEIVER);
		return;
	case 2:
	case 3:
	case 4:
		scribble(s);
		return;
	case 5:
		if (s->is_named)
			shrink(s);
		return;
	default:
		break;
	}
	if (s->out != NULL) {
		switch (next(s) % 6) {
		case 0:
			reserve(s);
			break;
		case 1:
			judge(weft_channel_commit(s->out, next(s)));
			break;
		case 2:
			judge(weft_channel_abandon(s->out));
			break;
		case 3:
			send_batch(s);
			break;
		default:
			send(s);
		}
	}
	if (s->in != NULL) {
		switch (next(s) % 5) {
		case 0:
			peek(s);
			break;
		case 1:
			judge(weft_channel_release(s->in));
			break;
		case 2:
			receive_batch(s);
			break;
		default:
			receive(s);
		}
	}
}

static int create(const struct weft_channel_attr *attr, int is_named)
{
	int fd;

	if (!is_named) {
		require(weft_channel_create(attr, &fd) == 0, "create");
		return fd;
	}
	snprintf(name, sizeof(name), "/weft-fuzz-%d", (int)getpid());
	snprintf(path, sizeof(path), "/dev/shm%s", name);
	require(weft_channel_create_named(name, attr) == 0, "create_named");
	fd = open(path, O_RDWR | O_CLOEXEC);
	require(fd >= 0, path);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state s = { .data = data, .left = size };
	unsigned int how = next(&s);
	struct weft_channel_attr attr = { .flags = how & 1,
					  .messages = 1 + (how >> 1) % 8,
					  .message_size = 1 + how % 40 };
	struct stat st;

	s.message_size = attr.message_size;
	s.is_named = (how & 0x40) != 0;
	s.fd = create(&attr, s.is_named);
	require(fstat(s.fd, &st) == 0, "fstat");
	s.bytes = (size_t)st.st_size;
	if (how & 0x80) {
		open_end(&s, &s.out, WEFT_CHANNEL_SENDER);
		open_end(&s, &s.in, WEFT_CHANNEL_RECEIVER);
	}
	for (int i = 0; i < STEPS_MAX && s.left > 0; i++)
		step(&s);
	if (s.out != NULL)
		weft_channel_close(s.out);
	if (s.in != NULL)
		weft_channel_close(s.in);
	close(s.fd);
	if (s.is_named)
		require(weft_channel_unlink(name) == 0, "unlink");
	return 0;
}
