/* SPDX-License-Identifier: MIT */
/*
 * Ends of channels are killed at any point of a send or a receive, and
 * replaced. Each message names its sender, has a number and a checksum:
 *
 * - of each sender the messages come whole and in order until its death;
 * - each death is reported once;
 * - a new receiver continues after its predecessor's last message, or with it.
 */
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <weft/channel.h>

#include "stress.h"

enum { SENDERS = 3, WORDS_MAX = 64, BATCH = 4 };

struct message {
	uint64_t sender, number, nr_words, sum;
	uint64_t word[WORDS_MAX];
};
#define HEAD_BYTES offsetof(struct message, word)

/* Children write it, and the parent reads it after their death. */
struct log {
	_Atomic uint64_t last; /* number of the message received last, + 1 */
	_Atomic int is_broken;
};

static int fd;
static struct log *receiver_log;

static size_t fill(struct message *m, uint64_t sender, uint64_t number,
		   uint64_t *random)
{
	m->sender = sender;
	m->number = number;
	m->nr_words = (uint64_t)random_below(random, WORDS_MAX + 1);
	m->sum = sender ^ number;
	for (uint64_t i = 0; i < m->nr_words; i++)
		m->sum += m->word[i] = random_next(random);
	return HEAD_BYTES + 8 * m->nr_words;
}

static bool is_whole(const struct message *m, size_t size)
{
	uint64_t sum = m->sender ^ m->number;

	if (size < HEAD_BYTES || m->nr_words > WORDS_MAX ||
	    size != HEAD_BYTES + 8 * m->nr_words)
		return false;
	for (uint64_t i = 0; i < m->nr_words; i++)
		sum += m->word[i];
	return sum == m->sum;
}

static void send_batch(struct weft_channel *out, uint64_t sender,
		       uint64_t *number, uint64_t *random)
{
	struct message m[BATCH];
	struct iovec give[BATCH];
	size_t nr;

	for (int i = 0; i < BATCH; i++) {
		size_t size =
			fill(&m[i], sender, *number + (uint64_t)i, random);

		give[i] = (struct iovec){ &m[i], size };
	}
	CHECK_EQ(weft_channel_send_batch_until(out, give, BATCH, &nr, NULL), 0);
	*number += BATCH;
}

/* Sends until it is killed. */
static void send_all(uint64_t sender)
{
	uint64_t random = random_start((long)sender), number = 0;
	struct weft_channel *out;
	struct message m;
	void *room;
	size_t size;

	CHECK_EQ(weft_channel_open(fd, WEFT_CHANNEL_SENDER, &out), 0);
	for (;;) {
		switch (random_below(&random, 8)) {
		case 0:
			send_batch(out, sender, &number, &random);
			break;
		case 1:
		case 2:
			CHECK_EQ(weft_channel_reserve_until(out, &room, NULL),
				 0);
			size = fill(room, sender, number++, &random);
			CHECK_EQ(weft_channel_commit(out, size), 0);
			break;
		default:
			size = fill(&m, sender, number++, &random);
			CHECK_EQ(weft_channel_send(out, &m, size), 0);
		}
	}
}

static pid_t start_sender(uint64_t sender)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0)
		send_all(sender);
	return child;
}

static void kill_child(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
}

static void create(uint32_t flags, uint64_t *random)
{
	struct weft_channel_attr attr = {
		.flags = flags,
		.message_size = sizeof(struct message),
		.messages = 1 + (uint32_t)random_below(random, 20),
	};

	CHECK_EQ(weft_channel_create(&attr, &fd), 0);
}

/*
 * Receives some messages of senders base to base + nr - 1; next[] has the
 * expected numbers. Returns how many deaths were reported.
 */
static int receive_some(struct weft_channel *in, long nr, uint64_t base,
			uint64_t *next, uint64_t nr_senders)
{
	struct message m;
	int nr_deaths = 0, rc;
	size_t size;

	while (nr-- > 0) {
		rc = weft_channel_receive(in, &m, sizeof(m), &size);
		if (rc == EPIPE)
			return nr_deaths;
		if (rc == EOWNERDEAD) {
			nr_deaths++;
			continue;
		}
		CHECK_EQ(rc, 0);
		CHECK(is_whole(&m, size));
		CHECK(m.sender >= base && m.sender < base + nr_senders);
		CHECK_EQ(m.number, next[m.sender - base]);
		next[m.sender - base]++;
	}
	return nr_deaths;
}

static void kill_senders(uint32_t flags, uint64_t *random)
{
	enum { KILLS = 12 };
	int nr = flags == 0 ? 1 : SENDERS, nr_deaths = 0;
	uint64_t next[SENDERS + KILLS] = { 0 }, nr_started = 0;
	struct weft_channel *in;
	pid_t child[SENDERS];

	create(flags, random);
	CHECK_EQ(weft_channel_open(fd, WEFT_CHANNEL_RECEIVER, &in), 0);
	for (int i = 0; i < nr; i++)
		child[i] = start_sender(nr_started++);
	for (int i = 0; i < KILLS; i++) {
		long which = random_below(random, nr);

		nr_deaths += receive_some(in, 1 + random_below(random, 300), 0,
					  next, nr_started);
		kill_child(child[which]);
		/* Sometimes there is no sender for a while. */
		if (random_below(random, 4) == 0)
			nr_deaths += receive_some(in, random_below(random, 100),
						  0, next, nr_started);
		child[which] = start_sender(nr_started++);
	}
	for (int i = 0; i < nr; i++)
		kill_child(child[i]);
	nr_deaths += receive_some(in, LONG_MAX, 0, next, nr_started);
	/* A sender that was killed before it had an end is not reported. */
	CHECK(nr_deaths <= (int)nr_started);
	for (uint64_t i = 0; i < nr_started; i++)
		nr_deaths -= next[i] > 0;
	CHECK(nr_deaths >= 0);
	CHECK_EQ(weft_channel_close(in), 0);
	close(fd);
}

/*
 * Receives until it is killed; each message is recorded before its slot is
 * freed.
 */
static void receive_all(void)
{
	struct weft_channel *in;
	bool is_first = true;
	const void *at;
	size_t size;

	CHECK_EQ(weft_channel_open(fd, WEFT_CHANNEL_RECEIVER, &in), 0);
	for (;;) {
		const struct message *m;

		CHECK_EQ(weft_channel_peek_until(in, &at, &size, NULL), 0);
		m = at;
		if (!is_whole(m, size) ||
		    !(m->number == receiver_log->last ||
		      (is_first && m->number + 1 == receiver_log->last)))
			receiver_log->is_broken = 1;
		is_first = false;
		receiver_log->last = m->number + 1;
		CHECK_EQ(weft_channel_release(in), 0);
	}
}

static pid_t start_receiver(void)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0)
		receive_all();
	return child;
}

static void kill_receivers(uint32_t flags, uint64_t *random)
{
	struct weft_channel *out;
	uint64_t number = 0;
	struct message m;
	pid_t child;

	create(flags, random);
	*receiver_log = (struct log){ 0 };
	CHECK_EQ(weft_channel_open(fd, WEFT_CHANNEL_SENDER, &out), 0);
	child = start_receiver();
	for (int kills = 0; kills < 12; kills++) {
		long nr = 1 + random_below(random, 300);
		size_t size = fill(&m, 0, number, random);

		while (nr > 0) {
			int rc = weft_channel_send(out, &m, size);

			CHECK(rc == 0 || rc == EOWNERDEAD);
			if (rc != 0) {
				/* the next receiver will come soon */
				sched_yield();
				continue;
			}
			nr--;
			size = fill(&m, 0, ++number, random);
		}
		kill_child(child);
		child = start_receiver();
	}
	while (receiver_log->last < number)
		sched_yield();
	CHECK_EQ(receiver_log->is_broken, 0);
	kill_child(child);
	CHECK_EQ(weft_channel_close(out), 0);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t random;
	long nr_rounds;

	stress_begin(argc, argv);
	random = random_start(0);
	receiver_log = mmap(NULL, sizeof(*receiver_log), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(receiver_log != MAP_FAILED);
	have_threads();
	nr_rounds = stress_scale(4);
	for (long i = 0; i < nr_rounds; i++) {
		kill_senders(0, &random);
		kill_senders(WEFT_CHANNEL_MANY, &random);
		kill_receivers(0, &random);
		kill_receivers(WEFT_CHANNEL_MANY, &random);
	}
	return stress_end();
}
