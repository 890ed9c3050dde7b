/* SPDX-License-Identifier: MIT */
/*
 * Sending and receiving on a channel. A sender claims a slot of the queue,
 * copies the message into it and publishes it. A receiver copies the message
 * out, and waits if there is none.
 *
 * A received message stays in its slot until the receiver's next call. So a
 * reply that the program sends first does not wait for the slot's cache line,
 * which the sender's CPU has. The queue has one more slot for that.
 */
#include "ipc/channel.h"

#include <errno.h>
#include <string.h>

#include "ipc/peer.h"

#define NS_PER_S 1000000000LL

static int deadline_of(const struct timespec *ts, int64_t *ret_ns)
{
	if (ts == NULL) {
		*ret_ns = WF_CHANNEL_FOREVER;
		return 0;
	}
	if (ts->tv_nsec < 0 || ts->tv_nsec >= NS_PER_S)
		return -EINVAL;
	if (ts->tv_sec < 0)
		*ret_ns = 0;
	else if (ts->tv_sec >= WF_CHANNEL_FOREVER / NS_PER_S)
		*ret_ns = WF_CHANNEL_FOREVER;
	else
		*ret_ns = ts->tv_sec * NS_PER_S + ts->tv_nsec;
	return 0;
}

/* Checks that the caller may send. Returns 0 or -Exxx. */

static int sender_check(const struct weft_channel *c)
{
	if (!wf_channel_is_sender(c) || c->lock_fd < 0)
		return -EBADF;
	return c->is_held ? -EBUSY : 0;
}

/* Claims a slot to write; waits until one is free, or the deadline. */
static int claim(struct weft_channel *c, int64_t deadline_ns)
{
	for (unsigned int i = 0;; i++) {
		uint64_t word;
		int rc = wf_peer_receiver(&c->queue);

		if (rc == 0)
			rc = wf_channel_queue_claim(&c->queue, &word);
		if (WF_LIKELY(rc != -EAGAIN))
			return rc;
		rc = wf_channel_wait(c, word, deadline_ns, i);
		if (rc != 0)
			return rc;
	}
}

/*
 * Called when one or several messages have been published: wakes the receiver.
 */
static void sent(struct weft_channel *c)
{
	wf_channel_ring_receiver(c);
	wf_channel_check(c, CLOCK_MONOTONIC_COARSE);
}

static int publish(struct weft_channel *c, size_t size)
{
	c->queue.cpu = wf_channel_cpu();
	return wf_channel_queue_publish(&c->queue, (uint32_t)size);
}

static int put(struct weft_channel *c, const void *message, size_t size)
{
	if (size != 0)
		memcpy(wf_channel_queue_room(&c->queue), message, size);
	return publish(c, size);
}

static int send(struct weft_channel *c, const void *message, size_t size,
		int64_t deadline_ns)
{
	int rc = sender_check(c);

	if (rc == 0 && size > c->queue.shape.message_size)
		rc = -EMSGSIZE;
	if (rc == 0)
		rc = claim(c, deadline_ns);
	if (rc == 0)
		rc = put(c, message, size);
	if (WF_LIKELY(rc == 0))
		sent(c);
	return -rc;
}

int weft_channel_send(struct weft_channel *c, const void *message, size_t size)
{
	return send(c, message, size, WF_CHANNEL_FOREVER);
}

int weft_channel_try_send(struct weft_channel *c, const void *message,
			  size_t size)
{
	return send(c, message, size, WF_CHANNEL_TRY);
}

int weft_channel_send_until(struct weft_channel *c, const void *message,
			    size_t size, const struct timespec *deadline)
{
	int64_t deadline_ns;
	int rc = deadline_of(deadline, &deadline_ns);

	return rc != 0 ? -rc : send(c, message, size, deadline_ns);
}

static int send_batch(struct weft_channel *c, const struct iovec *messages,
		      size_t nr, size_t *ret_nr, int64_t deadline_ns)
{
	int rc = 0;
	size_t i;

	for (i = 0; i < nr && rc == 0; i++) {
		if (messages[i].iov_len > c->queue.shape.message_size) {
			rc = -EMSGSIZE;
			break;
		}
		rc = claim(c, WF_CHANNEL_TRY);
		if (rc == -EAGAIN) {
			/* makes the receiver free slots */
			wf_channel_ring_receiver(c);
			rc = claim(c, deadline_ns);
		}
		if (rc == 0)
			rc = put(c, messages[i].iov_base, messages[i].iov_len);
		if (rc != 0)
			break;
	}
	if (i > 0)
		sent(c);
	*ret_nr = i;
	return rc;
}

int weft_channel_send_batch_until(struct weft_channel *c,
				  const struct iovec *messages, size_t nr,
				  size_t *ret_nr,
				  const struct timespec *deadline)
{
	int64_t deadline_ns;
	int rc = deadline_of(deadline, &deadline_ns);

	*ret_nr = 0;
	if (rc == 0)
		rc = sender_check(c);
	if (rc == 0)
		rc = send_batch(c, messages, nr, ret_nr, deadline_ns);
	return -rc;
}

int weft_channel_reserve_until(struct weft_channel *c, void **ret_room,
			       const struct timespec *deadline)
{
	int64_t deadline_ns;
	int rc = deadline_of(deadline, &deadline_ns);

	if (rc == 0)
		rc = sender_check(c);
	if (rc == 0)
		rc = claim(c, deadline_ns);
	if (rc != 0)
		return -rc;
	c->is_held = true;
	*ret_room = wf_channel_queue_room(&c->queue);
	return 0;
}

/* Returns 0 if the caller has reserved a slot, else -Exxx. */
static int held_check(const struct weft_channel *c)
{
	int rc = sender_check(c);

	return rc == -EBUSY ? 0 : rc == 0 ? -EINVAL : rc;
}

int weft_channel_commit(struct weft_channel *c, size_t size)
{
	int rc = held_check(c);

	if (rc == 0 && size > c->queue.shape.message_size)
		rc = -EMSGSIZE;
	if (rc != 0)
		return -rc;
	c->is_held = false;
	rc = publish(c, size);
	if (rc == 0)
		sent(c);
	return -rc;
}

int weft_channel_abandon(struct weft_channel *c)
{
	int rc = held_check(c);

	if (rc != 0)
		return -rc;
	c->is_held = false;
	rc = wf_channel_queue_give_up(&c->queue);
	sent(c); /* the receiver may be waiting for messages behind this one */
	return -rc;
}

/* Checks that the caller may receive. Returns 0 or -Exxx. */

static int receiver_check(const struct weft_channel *c)
{
	return wf_channel_is_sender(c) || c->lock_fd < 0 ? -EBADF : 0;
}

/* Frees the slot of the message received last, if it is not yet free. */
static bool free_taken(struct weft_channel *c)
{
	if (!c->is_taken)
		return false;
	c->is_taken = false;
	wf_channel_queue_free(&c->queue);
	return true;
}

/*
 * Returns the next message, in its slot; waits until there is one, or the
 * deadline.
 */
static int poll_message(struct weft_channel *c, const void **ret_message,
			uint32_t *ret_size, int64_t deadline_ns)
{
	for (unsigned int i = 0;; i++) {
		uint64_t word, position = c->queue.position;
		int rc = wf_channel_queue_peek(&c->queue, &word);

		if (WF_LIKELY(rc == 0))
			return wf_channel_queue_message(&c->queue, ret_message,
							ret_size);
		if (rc != -EAGAIN)
			return rc;
		if (c->queue.position != position)
			wf_channel_ring_senders(
				c); /* abandoned slots were freed */
		rc = wf_channel_wait(c, word, deadline_ns, i);
		if (rc != 0)
			return rc;
	}
}

static int take(struct weft_channel *c, void *buffer, size_t capacity,
		size_t *ret_size, int64_t deadline_ns)
{
	const void *message;
	uint32_t size;
	int rc = poll_message(c, &message, &size, deadline_ns);

	if (rc != 0)
		return rc;
	*ret_size = size;
	if (size > capacity)
		return -EMSGSIZE;
	if (size != 0)
		memcpy(buffer, message, size);
	c->is_taken = true;
	c->is_held = false;
	return 0;
}

/* Frees the slot of the message received before, and wakes senders. */
static int begin_receive(struct weft_channel *c)
{
	int rc = receiver_check(c);

	if (rc == 0 && free_taken(c))
		wf_channel_ring_senders(c);
	return rc;
}

static int receive(struct weft_channel *c, void *buffer, size_t capacity,
		   size_t *ret_size, int64_t deadline_ns)
{
	int rc = begin_receive(c);

	if (rc != 0)
		return -rc;
	return -take(c, buffer, capacity, ret_size, deadline_ns);
}

int weft_channel_receive(struct weft_channel *c, void *buffer, size_t capacity,
			 size_t *ret_size)
{
	return receive(c, buffer, capacity, ret_size, WF_CHANNEL_FOREVER);
}

int weft_channel_try_receive(struct weft_channel *c, void *buffer,
			     size_t capacity, size_t *ret_size)
{
	return receive(c, buffer, capacity, ret_size, WF_CHANNEL_TRY);
}

int weft_channel_receive_until(struct weft_channel *c, void *buffer,
			       size_t capacity, size_t *ret_size,
			       const struct timespec *deadline)
{
	int64_t deadline_ns;
	int rc = deadline_of(deadline, &deadline_ns);

	return rc != 0 ? -rc :
			 receive(c, buffer, capacity, ret_size, deadline_ns);
}

int weft_channel_receive_batch_until(struct weft_channel *c,
				     struct iovec *messages, size_t nr,
				     size_t *ret_nr,
				     const struct timespec *deadline)
{
	int64_t deadline_ns;
	size_t i;
	int rc = deadline_of(deadline, &deadline_ns);

	*ret_nr = 0;
	if (rc == 0)
		rc = begin_receive(c);
	if (rc != 0)
		return -rc;
	for (i = 0; i < nr; i++) {
		size_t size = 0;

		free_taken(c);
		rc = take(c, messages[i].iov_base, messages[i].iov_len, &size,
			  i == 0 ? deadline_ns : WF_CHANNEL_TRY);
		if (rc == 0 || (rc == -EMSGSIZE && i == 0))
			messages[i].iov_len = size;
		if (rc != 0)
			break;
	}
	if (i > 1)
		wf_channel_ring_senders(c);
	*ret_nr = i;
	return i > 0 ? 0 : -rc;
}

int weft_channel_peek_until(struct weft_channel *c, const void **ret_message,
			    size_t *ret_size, const struct timespec *deadline)
{
	int64_t deadline_ns;
	uint32_t size;
	int rc = deadline_of(deadline, &deadline_ns);

	if (rc == 0)
		rc = begin_receive(c);
	if (rc != 0)
		return -rc;
	rc = poll_message(c, ret_message, &size, deadline_ns);
	if (rc != 0)
		return -rc;
	c->is_held = true;
	*ret_size = size;
	return 0;
}

int weft_channel_release(struct weft_channel *c)
{
	int rc = receiver_check(c);

	if (rc == 0 && !c->is_held)
		rc = -EINVAL;
	if (rc != 0)
		return -rc;
	c->is_held = false;
	c->is_taken = true;
	return 0;
}
