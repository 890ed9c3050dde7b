/* SPDX-License-Identifier: MIT */
/*
 * Channels: queues of messages in shared memory, between threads of a process
 * or of several. One receiver; one sender, or up to 64.
 *
 *     struct weft_channel_attr attr = { .message_size = 64, .messages = 255 };
 *     struct weft_channel *out;
 *     int fd;
 *
 *     weft_channel_create(&attr, &fd);
 *     if (fork() == 0)
 *             serve(fd);       opens WEFT_CHANNEL_RECEIVER of it
 *     weft_channel_open(fd, WEFT_CHANNEL_SENDER, &out);
 *     weft_channel_send(out, "hello", 6);
 *     weft_channel_close(out);
 *
 * A message that comes at once costs no system call. Who waits looks at memory
 * for a while, then sleeps in the kernel.
 *
 * Each function returns 0 or an error number, and leaves errno alone. None ends
 * because of a signal, none may be called in a signal handler; one that waits
 * may be a cancellation point. A deadline is on CLOCK_MONOTONIC; NULL is none.
 * Link with `pkg-config --libs weft-api`.
 *
 * An end is for one thread at a time and for the process that opened it: a
 * child of fork() gets EBADF from it and opens the channel itself.
 *
 * Where the other side ends. A receiver first gets every message that was sent
 * completely. Then it gets EOWNERDEAD once for each sender that was killed or
 * exited without weft_channel_close, within 100 ms, and EPIPE if no sender is
 * left (before the first has come, it waits). A sender gets EOWNERDEAD while
 * the receiver is dead and EPIPE when it has closed its end; before the first
 * receiver has come the queue takes messages. Another receiver or sender may
 * take the place of one that is gone, and finds what is still in the queue; the
 * last message that a killed receiver got, or was looking at, comes again.
 *
 * Trust. Nothing in the memory is believed before it was checked, each time; a
 * peer that writes anything it likes can lose, alter or invent messages, and
 * make calls fail with EPROTO, not make them fault or read elsewhere. A
 * message that is looked at in place (weft_channel_peek_until) may change
 * under the eyes of its reader. Memory of weft_channel_create is sealed against
 * shrinking. The file of a name cannot be: weft_channel_open_named sets a
 * handler of SIGBUS instead, which passes on what is not for it to the one that
 * was there. A program that sets another one afterwards, or blocks the signal,
 * is killed if a peer shrinks the file.
 */
#ifndef WEFT_CHANNEL_H
#define WEFT_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The <time.h> of plain C99 has none. */
struct timespec;

#define WEFT_CHANNEL_MESSAGE_MAX 65536
#define WEFT_CHANNEL_SENDERS_MAX 64

struct weft_channel;

/* What a channel is like. */
struct weft_channel_attr {
	uint32_t message_size; /* of the largest message, 1 to 65536 */
	uint32_t messages;     /* that it holds at least, 1 to 2^20 - 1 */
	uint32_t flags;	       /* 0 or WEFT_CHANNEL_MANY */
	mode_t mode;	       /* permissions of the file; 0: 0600 */
};

/* Up to 64 senders at a time, not one. */
#define WEFT_CHANNEL_MANY 1U

/* The ends. */
#define WEFT_CHANNEL_RECEIVER 0
#define WEFT_CHANNEL_SENDER 1

/*
 * Makes a channel in a sealed memfd, whose close-on-exec descriptor it returns:
 * to hand to others by fork or over a socket. The memory lives until the last
 * descriptor and the last end are closed. Opening an end needs read and write
 * permission by attr->mode.
 *
 * EINVAL: attr. EMFILE, ENFILE, ENOMEM.
 */
int weft_channel_create(const struct weft_channel_attr *attr, int *ret_fd);

/*
 * Makes a channel in a file of /dev/shm; name is as for shm_open(). The mode
 * is subject to the umask. The name appears when the channel is complete.
 *
 * As above, and EEXIST, EACCES, ENAMETOOLONG, ENOSPC, ENOENT (no /dev/shm).
 */
int weft_channel_create_named(const char *name,
			      const struct weft_channel_attr *attr);

/* Removes the name; those who have opened the channel keep it. */
int weft_channel_unlink(const char *name);

/*
 * Opens an end. The descriptor may be closed afterwards. Needs /proc.
 *
 * EBUSY: the end is taken (all 64 of a WEFT_CHANNEL_MANY). EACCES: the file's
 * permissions. EINVAL: end. EPROTO: this is no channel, one of another version,
 * or a descriptor that is not sealed. EBADF, EMFILE, ENOMEM, ENOENT.
 */
int weft_channel_open(int fd, int end, struct weft_channel **ret_channel);
int weft_channel_open_named(const char *name, int end,
			    struct weft_channel **ret_channel);

/*
 * The end is over, and the other side learns it. What was reserved and not
 * committed is given up. In a fork child it frees the child's copy only.
 */
int weft_channel_close(struct weft_channel *channel);

/*
 * Copies a message into the queue; waits while it is full.
 *
 * EMSGSIZE: larger than the channel's message_size. EPIPE, EOWNERDEAD: see
 * above. EAGAIN: full (try). ETIMEDOUT. EINVAL: a bad deadline. EBUSY: a
 * reservation is open. EBADF: this is a receiver's end, or the parent's.
 * EPROTO: the other side broke the rules.
 */
int weft_channel_send(struct weft_channel *channel, const void *message,
		      size_t size);
int weft_channel_try_send(struct weft_channel *channel, const void *message,
			  size_t size);
int weft_channel_send_until(struct weft_channel *channel, const void *message,
			    size_t size, const struct timespec *deadline);

/*
 * Copies the next message out and returns its size; waits while there is none.
 *
 * EMSGSIZE: it is larger than `capacity`; it stays, and *ret_size is its size.
 * EPIPE, EOWNERDEAD: see above. EAGAIN: empty (try). ETIMEDOUT, EINVAL, EBUSY,
 * EBADF, EPROTO as for sending.
 */
int weft_channel_receive(struct weft_channel *channel, void *buffer,
			 size_t capacity, size_t *ret_size);
int weft_channel_try_receive(struct weft_channel *channel, void *buffer,
			     size_t capacity, size_t *ret_size);
int weft_channel_receive_until(struct weft_channel *channel, void *buffer,
			       size_t capacity, size_t *ret_size,
			       const struct timespec *deadline);

/*
 * Several at once, which costs less. Sends the messages in order and waits for
 * room for each; *ret_nr is how many were sent, also if it fails.
 */
int weft_channel_send_batch_until(struct weft_channel *channel,
				  const struct iovec *messages, size_t nr,
				  size_t *ret_nr,
				  const struct timespec *deadline);

/*
 * Waits for the first, then takes what is there, up to nr. iov_len is the
 * capacity of each buffer and becomes the message's size. A message too large
 * ends the batch; EMSGSIZE if it is the first.
 */
int weft_channel_receive_batch_until(struct weft_channel *channel,
				     struct iovec *messages, size_t nr,
				     size_t *ret_nr,
				     const struct timespec *deadline);

/*
 * Sending without a copy: room for a message of any size, aligned to 16 bytes,
 * in which it is written; then commit, or abandon. One at a time. Messages of
 * later reservations wait for this one. Errors as for sending; commit: EINVAL
 * without a reservation, EMSGSIZE (and it stays reserved).
 */
int weft_channel_reserve_until(struct weft_channel *channel, void **ret_room,
			       const struct timespec *deadline);
int weft_channel_commit(struct weft_channel *channel, size_t size);
int weft_channel_abandon(struct weft_channel *channel);

/*
 * Receiving without a copy: where the next message lies, until it is released.
 * Peeking again returns the same. Errors as for receiving; release: EINVAL
 * without a message.
 */
int weft_channel_peek_until(struct weft_channel *channel,
			    const void **ret_message, size_t *ret_size,
			    const struct timespec *deadline);
int weft_channel_release(struct weft_channel *channel);

#ifdef __cplusplus
}
#endif

#endif
