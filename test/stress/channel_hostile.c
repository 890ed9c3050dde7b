/* SPDX-License-Identifier: MIT */
/*
 * A peer writes into a channel's memory while honest ends are in the middle of
 * calls: plausible words, and any others. Each call ends by its deadline, with
 * an error that it may return. No message is larger than the channel allows.
 * (test/fuzz writes between calls.)
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <weft/channel.h>

#include "stress.h"

enum { MESSAGE_SIZE = 100, LATEST_MS = 5000 };

static int fd;
static uint32_t flags;

/* Overwrites words of the memory until it is killed. */
static void scribble(uint64_t random)
{
	_Atomic uint64_t *memory;
	struct stat st;
	long nr_words;

	CHECK_EQ(fstat(fd, &st), 0);
	nr_words = st.st_size / 8;
	memory = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		      MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED);
	for (;;) {
		long at = random_below(&random, nr_words);

		/*
		 * Mostly where the protocol has its words: in the header after
		 * the shape, and at the begin of slots.
		 */
		if (random_below(&random, 4) != 0)
			at = random_below(&random, 2) == 0 ?
				     8 + random_below(&random, 72) :
				     512 + at % ((nr_words - 512) / 8) * 8 +
					     random_below(&random, 2);
		switch (random_below(&random, 4)) {
		case 0:
			memory[at] = random_next(&random);
			break;
		case 1:
			memory[at] ^= 1ULL << random_below(&random, 64);
			break;
		case 2:
			memory[at] += 1ULL << 10;
			break;
		default:
			memory[at] = random_next(&random) % 256;
		}
		if (random_below(&random, 64) == 0)
			sched_yield();
	}
}

static bool is_expected(int rc)
{
	return rc == 0 || rc == EAGAIN || rc == ETIMEDOUT || rc == EPROTO ||
	       rc == EPIPE || rc == EOWNERDEAD || rc == EMSGSIZE;
}

static int use(struct weft_channel *out, struct weft_channel *in,
	       uint64_t *random)
{
	unsigned char buffer[MESSAGE_SIZE] = { 0 };
	struct timespec soon = deadline_ms(CLOCK_MONOTONIC, 1);
	size_t size = 0, asked = (size_t)random_below(random, MESSAGE_SIZE);
	const void *message;
	void *room;
	int rc;

	switch (random_below(random, 6)) {
	case 0:
		return weft_channel_send_until(out, buffer, asked, &soon);
	case 1:
		return weft_channel_try_send(out, buffer, asked);
	case 2:
		rc = weft_channel_reserve_until(out, &room, &soon);
		if (rc != 0)
			return rc;
		memset(room, 1, MESSAGE_SIZE);
		return weft_channel_commit(out, asked);
	case 3:
		rc = weft_channel_receive_until(in, buffer, asked, &size,
						&soon);
		CHECK(rc != 0 || size <= asked);
		return rc;
	case 4:
		return weft_channel_try_receive(in, buffer, MESSAGE_SIZE,
						&size);
	default:
		rc = weft_channel_peek_until(in, &message, &size, &soon);
		if (rc != 0)
			return rc;
		CHECK(size <= MESSAGE_SIZE);
		memcpy(buffer, message, size);
		return weft_channel_release(in);
	}
}

/* Opens both ends and uses them until a call returns EPROTO. */
static void serve(uint64_t *random, long *nr_calls)
{
	struct weft_channel *out, *in;
	int rc = weft_channel_open(fd, WEFT_CHANNEL_SENDER, &out);

	if (rc != 0) {
		CHECK_EQ(rc, EPROTO);
		return;
	}
	if (weft_channel_open(fd, WEFT_CHANNEL_RECEIVER, &in) == 0) {
		do {
			int64_t start = now_ns();

			rc = use(out, in, random);
			CHECK(is_expected(rc));
			CHECK(elapsed_ms(start) < LATEST_MS);
		} while (rc != EPROTO && --*nr_calls > 0);
		weft_channel_close(in);
	}
	weft_channel_close(out);
}

static void round_of(uint64_t *random)
{
	struct weft_channel_attr attr = { .message_size = MESSAGE_SIZE,
					  .messages = 7 };
	long nr_calls = 3000;
	int64_t start = now_ns();
	pid_t child;
	int status;

	attr.flags = flags;
	CHECK_EQ(weft_channel_create(&attr, &fd), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		scribble(*random);
	while (nr_calls-- > 0 && elapsed_ms(start) < 200)
		serve(random, &nr_calls);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t random;

	stress_begin(argc, argv);
	random = random_start(0);
	have_threads();
	for (long i = stress_scale(30); i > 0; i--) {
		flags = i % 2 == 0 ? WEFT_CHANNEL_MANY : 0;
		round_of(&random);
	}
	return stress_end();
}
