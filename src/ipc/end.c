/* SPDX-License-Identifier: MIT */
/*
 * Creates channels, and opens and closes their ends. An end maps the file,
 * locks the byte of its number through a file description of its own, and joins
 * the queue. The lock shows that the end lives (peer.c). A child of fork shares
 * the description, and must not keep the lock when its parent exits:
 *
 * END-1. All ends of a process are in a list. A fork child closes their lock
 *     descriptors before fork returns. A child of a raw clone() keeps them
 *     until it executes a program.
 * END-2. No fork comes between opening or closing a descriptor and noting that.
 * END-3. Closing an end unlocks its byte explicitly, since a child may not have
 *     reached END-1 yet.
 * END-4. Memory is never mapped through the lock's description, since children
 *     keep mappings.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "ipc/channel.h"
#include "ipc/file.h"
#include "ipc/guard.h"
#include "ipc/peer.h"

struct weft_channel *_Atomic wf_channels;
/* held around opening and closing: END-2 */
static pthread_mutex_t no_fork = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void)
{
	pthread_mutex_lock(&no_fork);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&no_fork);
}

/* Runs in a fork child before the program's code does. END-1 */
static void forget_all(void)
{
	struct weft_channel *c = wf_load_acquire(&wf_channels);

	for (; c != NULL; c = c->next) {
		if (wf_load_relaxed(&c->use) != 0 && c->lock_fd >= 0) {
			wf_file_close(c->lock_fd);
			c->lock_fd = -1;
		}
	}
	pthread_mutex_unlock(&no_fork);
}

/*
 * Sets the fork handlers when the library is loaded: a fork that has begun
 * would not call handlers set later. END-2
 */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, forget_all);
}

/*
 * Returns an end that is not in use, or a new one, which is put into the list.
 */
static struct weft_channel *get(void)
{
	struct weft_channel *c;

	/* acquire: the end's fields; pairs with the release of the push
	 * below. */
	for (c = wf_load_acquire(&wf_channels); c != NULL; c = c->next) {
		uint32_t unused = 0;

		if (wf_cas_acq_rel(&c->use, &unused, 1))
			return c;
	}
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return NULL;
	c->lock_fd = -1;
	wf_store_relaxed(&c->use, 1);
	c->next = wf_load_relaxed(&wf_channels);
	while (!wf_cas_acq_rel(&wf_channels, &c->next, c))
		;
	return c;
}

/*
 * Marks the end as not in use. From here on another caller may get it and write
 * its fields.
 */
static void put(struct weft_channel *c)
{
	/* release: our last accesses to the end; pairs with the CAS in get. */
	wf_store_release(&c->use, 0);
}

/* Locks the receiver's end, or the first sender's end that is free. */
static int lock_end(struct weft_channel *c, bool is_sender, uint32_t nr_senders)
{
	int rc = -EBUSY;

	if (!is_sender) {
		c->end = WF_PEER_RECEIVER;
		return wf_peer_lock(c->lock_fd, c->end);
	}
	for (c->end = 0; c->end < nr_senders; c->end++) {
		rc = wf_peer_lock(c->lock_fd, c->end);
		if (rc != -EBUSY)
			return rc;
	}
	return rc;
}

static int open_lock(struct weft_channel *c, int fd)
{
	int rc;

	pthread_mutex_lock(&no_fork);
	rc = wf_file_reopen(fd, &c->lock_fd);
	pthread_mutex_unlock(&no_fork);
	return rc;
}

static void close_lock(struct weft_channel *c)
{
	pthread_mutex_lock(&no_fork);
	wf_peer_unlock(c->lock_fd, c->end); /* END-3: a child may share it */
	wf_file_close(c->lock_fd);
	c->lock_fd = -1;
	pthread_mutex_unlock(&no_fork);
}

/*
 * Begins to use an end. c->memory is mapped and c->lock_fd open. Returns 0 or
 * -Exxx.
 */
static int begin(struct weft_channel *c, const struct wf_channel_shape *shape,
		 bool is_sender)
{
	bool is_many = (shape->flags & WF_CHANNEL_FLAG_MANY) != 0;
	int rc = lock_end(c, is_sender, is_many ? WF_CHANNEL_SENDERS_MAX : 1);

	if (rc == 0)
		rc = wf_channel_queue_attach(&c->queue, c->memory, shape,
					     is_sender, is_sender ? c->end : 0);
	if (rc != 0)
		return rc;
	c->is_held = false;
	c->is_taken = false;
	c->spin_us = WF_CHANNEL_SPIN_US;
	c->checked_ns = 0;
	c->nr_seen = wf_load_relaxed(&c->queue.header->nr_died);
	wf_peer_arrive(&c->queue, c->end);
	return 0;
}

static void unmap(struct weft_channel *c, const struct wf_channel_shape *shape)
{
	wf_guard_end(c);
	wf_file_unmap(c->memory, shape);
}

static int open_end(struct weft_channel *c, int fd, bool must_seal,
		    bool is_sender)
{
	struct wf_channel_shape shape;
	int rc = wf_file_map(fd, must_seal, &c->memory, &shape);

	if (rc != 0)
		return rc;
	wf_store_relaxed(&c->is_cut, false);
	if (!must_seal)
		wf_guard_begin(c, wf_channel_queue_bytes(&shape));
	rc = open_lock(c, fd);
	if (rc == 0) {
		rc = begin(c, &shape, is_sender);
		if (rc == 0)
			return 0;
		close_lock(c);
	}
	unmap(c, &shape);
	return rc;
}

static int open_file(int fd, bool must_seal, int end,
		     struct weft_channel **ret_channel)
{
	struct weft_channel *c;
	int rc;

	if (end != WEFT_CHANNEL_RECEIVER && end != WEFT_CHANNEL_SENDER)
		return EINVAL;
	c = get();
	if (c == NULL)
		return ENOMEM;
	rc = open_end(c, fd, must_seal, end == WEFT_CHANNEL_SENDER);
	if (rc != 0) {
		put(c);
		return -rc;
	}
	*ret_channel = c;
	return 0;
}

int weft_channel_open(int fd, int end, struct weft_channel **ret_channel)
{
	return open_file(fd, true, end, ret_channel);
}

int weft_channel_open_named(const char *name, int end,
			    struct weft_channel **ret_channel)
{
	int fd;
	int rc = wf_file_open_named(name, &fd);

	if (rc != 0)
		return -rc;
	rc = open_file(fd, false, end, ret_channel);
	wf_file_close(fd);
	return rc;
}

int weft_channel_close(struct weft_channel *c)
{
	if (c->lock_fd >= 0) {
		if (wf_channel_is_sender(c) && c->is_held)
			wf_channel_queue_give_up(&c->queue);
		else if (!wf_channel_is_sender(c) && c->is_taken)
			wf_channel_queue_free(&c->queue);
		wf_peer_leave(&c->queue, c->end);
		wf_channel_ring_all(c);
		close_lock(c);
	}
	unmap(c, &c->queue.shape);
	put(c);
	return 0;
}

/*
 * Converts attr to a shape. Returns -EINVAL if no channel can have these
 * attributes.
 */
static int shape_of(const struct weft_channel_attr *attr,
		    struct wf_channel_shape *ret_shape)
{
	struct wf_channel_shape shape = { .flags = attr->flags,
					  .message_size = attr->message_size };

	if (attr->messages < 1 || attr->messages >= WF_CHANNEL_SLOTS_MAX ||
	    (attr->mode & ~0777U) != 0)
		return -EINVAL;
	/* One slot more than messages: the slot of the message that was
	 * received last is freed only at the next receive. */
	shape.nr_slots = wf_channel_slots_for(attr->messages);
	if (!wf_channel_shape_is_valid(&shape))
		return -EINVAL;
	*ret_shape = shape;
	return 0;
}

static mode_t mode_of(const struct weft_channel_attr *attr)
{
	return attr->mode != 0 ? attr->mode : 0600;
}

int weft_channel_create(const struct weft_channel_attr *attr, int *ret_fd)
{
	struct wf_channel_shape shape;
	int rc = shape_of(attr, &shape);

	if (rc == 0)
		rc = wf_file_create(&shape, mode_of(attr), ret_fd);
	return -rc;
}

int weft_channel_create_named(const char *name,
			      const struct weft_channel_attr *attr)
{
	struct wf_channel_shape shape;
	int rc = shape_of(attr, &shape);

	if (rc == 0)
		rc = wf_file_create_named(name, &shape, mode_of(attr));
	return -rc;
}

int weft_channel_unlink(const char *name)
{
	return -wf_file_unlink(name);
}
