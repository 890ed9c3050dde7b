/* SPDX-License-Identifier: MIT */
/*
 * Channels: queues of messages in shared memory, between the threads of one
 * process or of several. A channel has one receiver, and one sender or up to
 * 64.
 *
 *     struct weft_channel_attr attr = { .message_size = 64, .messages = 255 };
 *     struct weft_channel *out;
 *     int fd;
 *
 *     weft_channel_create(&attr, &fd);
 *     if (fork() == 0)
 *             serve(fd);       opens the end WEFT_CHANNEL_RECEIVER
 *     weft_channel_open(fd, WEFT_CHANNEL_SENDER, &out);
 *     weft_channel_send(out, "hello", 6);
 *     weft_channel_close(out);
 *
 * A message that arrives while its receiver polls costs no system call. A
 * thread that waits polls the memory for a while, then sleeps in the kernel.
 *
 * Each function returns 0 or an error number, and does not change errno. A
 * signal never ends a call. No function may be called in a signal handler. A
 * function that waits may be a cancellation point. A deadline is a time of
 * CLOCK_MONOTONIC; NULL means no deadline. Link with `pkg-config --libs
 * weft-api`.
 *
 * Only one thread at a time may use an end, and only in the process that opened
 * it. A child of fork() gets EBADF from its parent's end, and opens the channel
 * itself.
 *
 * When the other end is gone. A receiver first gets every message that was sent
 * completely. Then it gets EOWNERDEAD once for each sender that was killed or
 * exited without weft_channel_close, within 100 ms. It gets EPIPE if no sender
 * is left; before the first sender has opened its end, it waits. A sender gets
 * EOWNERDEAD if the receiver has died, and EPIPE if the receiver has closed its
 * end. Before the first receiver has opened its end, the queue takes messages.
 * A new receiver or sender may open an end that is gone, and finds the messages
 * that are still in the queue. The last message that a killed receiver got or
 * peeked at is received again.
 *
 * Trust. Each access checks what it reads from the shared memory. A peer that
 * writes arbitrary bytes can lose, alter or invent messages and make calls fail
 * with EPROTO. It cannot make them fault or read other memory. A message that
 * is read in place (weft_channel_peek_until) may change while it is read.
 * Memory of weft_channel_create is sealed against shrinking. A named file
 * cannot be sealed: weft_channel_open_named sets a handler of SIGBUS instead,
 * which passes other faults to the handler before it. If the program then sets
 * another handler or blocks the signal, a peer that shrinks the file kills it.
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

/* The <time.h> of plain C99 lacks this structure. */
struct timespec;

#define WEFT_CHANNEL_MESSAGE_MAX 65536
#define WEFT_CHANNEL_SENDERS_MAX 64

struct weft_channel;

/* The properties of a channel. */
struct weft_channel_attr {
	uint32_t message_size; /* bytes of the largest message, 1 to 65536 */
	uint32_t messages;     /* minimum capacity, 1 to 2^20 - 1 */
	uint32_t flags;	       /* 0 or WEFT_CHANNEL_MANY */
	mode_t mode;	       /* permissions of the file; 0: 0600 */
};

/* Permits up to 64 senders at a time. */
#define WEFT_CHANNEL_MANY 1U

/* The ends. */
#define WEFT_CHANNEL_RECEIVER 0
#define WEFT_CHANNEL_SENDER 1

/*
 * Makes a channel in a sealed memfd and stores its close-on-exec descriptor.
 * Pass the descriptor to other processes by fork or over a socket. The memory
 * exists until the last descriptor and the last end are closed. To open an end,
 * a process needs read and write permission by attr->mode.
 *
 * Errors: EINVAL (attr), EMFILE, ENFILE, ENOMEM.
 */
int weft_channel_create(const struct weft_channel_attr *attr, int *ret_fd);

/*
 * Makes a channel in a file of /dev/shm; name is as for shm_open(). The umask
 * applies to the mode. The name appears when the channel is complete.
 *
 * Errors: as above, and EEXIST, EACCES, ENAMETOOLONG, ENOSPC, ENOENT (no
 * /dev/shm).
 */
int weft_channel_create_named(const char *name,
			      const struct weft_channel_attr *attr);

/* Removes the name. Ends that are open stay usable. */
int weft_channel_unlink(const char *name);

/*
 * Opens an end. The descriptor may be closed afterwards. Needs /proc.
 *
 * EBUSY: the end is taken (all 64 of a WEFT_CHANNEL_MANY). EACCES: the file's
 * permissions. EINVAL: end. EPROTO: the file is no channel, is of another
 * version, or is not sealed. EBADF, EMFILE, ENOMEM, ENOENT.
 */
int weft_channel_open(int fd, int end, struct weft_channel **ret_channel);
int weft_channel_open_named(const char *name, int end,
			    struct weft_channel **ret_channel);

/*
 * Closes the end. The other end gets EPIPE, see above. Gives up a reservation
 * that was not committed. In a fork child it frees only the child's copy.
 */
int weft_channel_close(struct weft_channel *channel);

/*
 * Copies a message into the queue; waits while the queue is full.
 *
 * EMSGSIZE: larger than the channel's message_size. EPIPE, EOWNERDEAD: see
 * above. EAGAIN: full (try). ETIMEDOUT. EINVAL: an invalid deadline. EBUSY: a
 * reservation is open. EBADF: a receiver's end, or the parent's. EPROTO: the
 * shared memory is inconsistent.
 */
int weft_channel_send(struct weft_channel *channel, const void *message,
		      size_t size);
int weft_channel_try_send(struct weft_channel *channel, const void *message,
			  size_t size);
int weft_channel_send_until(struct weft_channel *channel, const void *message,
			    size_t size, const struct timespec *deadline);

/*
 * Copies the next message into the buffer and stores its size; waits while the
 * queue is empty.
 *
 * EMSGSIZE: the message is larger than `capacity`. It stays in the queue, and
 * *ret_size is its size. EPIPE, EOWNERDEAD: see above. EAGAIN: empty (try).
 * ETIMEDOUT, EINVAL, EBUSY, EBADF, EPROTO: as for sending.
 */
int weft_channel_receive(struct weft_channel *channel, void *buffer,
			 size_t capacity, size_t *ret_size);
int weft_channel_try_receive(struct weft_channel *channel, void *buffer,
			     size_t capacity, size_t *ret_size);
int weft_channel_receive_until(struct weft_channel *channel, void *buffer,
			       size_t capacity, size_t *ret_size,
			       const struct timespec *deadline);

/*
 * Sends several messages in order, which costs less than single calls. Waits
 * for room for each. *ret_nr is the number of messages sent, also on failure.
 */
int weft_channel_send_batch_until(struct weft_channel *channel,
				  const struct iovec *messages, size_t nr,
				  size_t *ret_nr,
				  const struct timespec *deadline);

/*
 * Waits for the first message, then takes those that have arrived, up to nr.
 * iov_len is the capacity of each buffer and becomes the message's size. A
 * message that is too large ends the batch: EMSGSIZE if it is the first.
 */
int weft_channel_receive_batch_until(struct weft_channel *channel,
				     struct iovec *messages, size_t nr,
				     size_t *ret_nr,
				     const struct timespec *deadline);

/*
 * Sends without a copy. Reserve stores room for a message of any size, aligned
 * to 16 bytes; the caller writes there, then commits or abandons it. An end has
 * one reservation at a time. Messages of later reservations wait for this one.
 * Errors as for sending. Commit: EINVAL without a reservation, EMSGSIZE (the
 * room stays reserved).
 */
int weft_channel_reserve_until(struct weft_channel *channel, void **ret_room,
			       const struct timespec *deadline);
int weft_channel_commit(struct weft_channel *channel, size_t size);
int weft_channel_abandon(struct weft_channel *channel);

/*
 * Receives without a copy. Peek stores where the next message lies, which is
 * valid until release. A second peek returns the same message. Errors as for
 * receiving. Release: EINVAL without a message.
 */
int weft_channel_peek_until(struct weft_channel *channel,
			    const void **ret_message, size_t *ret_size,
			    const struct timespec *deadline);
int weft_channel_release(struct weft_channel *channel);

#ifdef __cplusplus
}
#endif

#endif
