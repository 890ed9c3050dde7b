/*
 * A channel with a peer that writes anything into its memory, between any two
 * calls of an honest end. No call may fault, read outside the memory, go on for
 * ever, or return a message larger than the channel's.
 *
 * The input is a program: its first byte is the channel's flags and size, then
 * each byte is one step, with the bytes behind it as operands.
 *
 * Built with libFuzzer it is a fuzzer (`build/test/fuzz/fuzz_channel`); with
 * driver.c it runs inputs that are made by a seed.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
	int fd;
	unsigned char *memory; /* the hostile peer's view */
	size_t bytes;
	struct weft_channel *out, *in; /* NULL while closed */
};

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

/* A few errors are the honest answers to nonsense. */
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

/* An aligned word anywhere, to an interesting value or any. */
static void scribble(struct state *s)
{
	size_t at = next_value(s, 2) * 8 % s->bytes;
	unsigned int how = next(s);
	uint64_t value, old;

	memcpy(&old, s->memory + at, 8);
	switch (how % 6) {
	case 0:
		value = next_value(s, 8);
		break;
	case 1: /* another state, sender or position in a slot's word */
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
	memcpy(s->memory + at, &value, 8);
}

static void open_end(struct state *s, struct weft_channel **end, int which)
{
	int rc;

	if (*end != NULL) {
		weft_channel_close(*end);
		*end = NULL;
		return;
	}
	rc = weft_channel_open(s->fd, which, end);
	judge(rc);
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
	require(got <= s->message_size, "a message larger than the channel's");
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
	switch (next(s) % 12) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state s = { .data = data, .left = size };
	unsigned int how = next(&s);
	struct weft_channel_attr attr = { .flags = how & 1,
					  .messages = 1 + (how >> 1) % 8,
					  .message_size = 1 + how % 40 };
	struct stat st;

	s.message_size = attr.message_size;
	require(weft_channel_create(&attr, &s.fd) == 0, "create");
	require(fstat(s.fd, &st) == 0, "fstat");
	s.bytes = (size_t)st.st_size;
	s.memory = mmap(NULL, s.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd,
			0);
	require(s.memory != MAP_FAILED, "mmap");
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
	munmap(s.memory, s.bytes);
	close(s.fd);
	return 0;
}
