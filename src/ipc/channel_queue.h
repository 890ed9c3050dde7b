/* SPDX-License-Identifier: MIT */
/*
 * A queue of messages in memory that other processes also write to: the layout,
 * and the part of the protocol that only accesses memory. None of the functions
 * blocks or makes a system call. All check what they read.
 *
 *     rc = wf_channel_queue_claim(&r, &word);           sender
 *     if (rc == 0) {
 *             memcpy(wf_channel_queue_room(&r), message, size);
 *             rc = wf_channel_queue_publish(&r, size);
 *     }
 *
 *     rc = wf_channel_queue_peek(&r, &word);            receiver
 *     if (rc == 0) {
 *             rc = wf_channel_queue_message(&r, &message, &size);
 *             ...
 *             wf_channel_queue_free(&r);
 *     }
 */
#ifndef WEFT_IPC_CHANNEL_QUEUE_H
#define WEFT_IPC_CHANNEL_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* "wftchnnl", read from the last byte */
#define WF_CHANNEL_MAGIC 0x6c6e6e6863746677ULL
#define WF_CHANNEL_VERSION 1U
#define WF_CHANNEL_HEADER_BYTES 4096U
#define WF_CHANNEL_MESSAGE_MAX 65536U
#define WF_CHANNEL_SLOTS_MAX (1U << 20)
#define WF_CHANNEL_SENDERS_MAX 64U
#define WF_CHANNEL_FLAG_MANY 1U

/* States of a slot, in the lowest bits of its word. */
enum wf_channel_slot_state {
	WF_SLOT_FREE = 0,     /* free for the message of this position */
	WF_SLOT_CLAIMED = 1,  /* one of several senders is writing it */
	WF_SLOT_FULL = 2,     /* it has a message */
	WF_SLOT_ABANDONED = 3 /* its sender gave up or died */
};

/*
 * A slot's word has the state in so many lowest bits, then the number of the
 * sender, then the position of the message.
 */
#define WF_SLOT_STATE_BITS 2
#define WF_SLOT_POSITION_SHIFT 10
#define WF_SLOT_POSITION_MASK (UINT64_MAX >> WF_SLOT_POSITION_SHIFT)

struct wf_channel_slot {
	_Atomic uint64_t word;
	_Atomic uint32_t size; /* of the message, in bytes; its sender writes */
	_Atomic uint32_t cpu;  /* the sender's CPU + 1, a hint; 0: unknown */
	unsigned char room[];  /* the message; aligned to 16 */
};

/* The beginning of the queue's memory; the slots follow. */
struct wf_channel_header {
	/* The next fields are written once, by the process that creates the
	 * channel. */
	uint64_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t message_size;
	uint32_t nr_slots;
	/* Hints of the first and the last position: a new owner of an end
	 * begins to search there (CHANNEL_QUEUE-3). */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint64_t head;
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint64_t tail;
	/* Doorbells. BELL_WANTED: the receiver (or a sender) sleeps or is about
	 * to, and has to be woken. */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t message_bell;
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t room_bell;
	/* A hint: the CPU, plus 1, on which the receiver last waited. */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t receiver_cpu;
	/* The states of the ends (peer.c), and how many senders were found
	 * dead. */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t receiver;
	_Atomic uint32_t nr_died;
	WF_ALIGNED(WF_CACHE_LINE)
	_Atomic uint32_t sender[WF_CHANNEL_SENDERS_MAX];
};
_Static_assert(sizeof(struct wf_channel_header) <= WF_CHANNEL_HEADER_BYTES,
	       "the slots begin behind the header");

/* The parameters of a queue. All computations use a copy in private memory. */
struct wf_channel_shape {
	uint32_t flags;
	uint32_t message_size;
	uint32_t nr_slots; /* a power of two */
};

/* A queue as one end sees it; in private memory. */
struct wf_channel_queue {
	struct wf_channel_header *header;
	unsigned char *slots;
	uint64_t position; /* of the present message, or of the next one */
	struct wf_channel_shape shape;
	uint32_t stride; /* bytes from slot to slot */
	uint32_t sender; /* the number of this sender */
	/* the hint of messages sent, or of the last one received */
	uint32_t cpu;
};

/*
 * Returns how many slots a queue for `messages` needs: one more, since the
 * receiver frees the last message late.
 */
uint32_t wf_channel_slots_for(uint32_t messages);
/* True if this version of weft knows the shape. */
bool wf_channel_shape_is_valid(const struct wf_channel_shape *shape);
/* Returns the size in bytes of a queue with a valid shape. */
uint64_t wf_channel_queue_bytes(const struct wf_channel_shape *shape);

/*
 * Writes an empty queue into wf_channel_queue_bytes(shape) bytes of zeroed
 * memory.
 */
void wf_channel_queue_format(void *memory,
			     const struct wf_channel_shape *shape);
/*
 * Reads the shape from memory of `bytes`. Returns 0, or -EPROTO if it has no
 * queue.
 */
int wf_channel_shape_read(const void *memory, uint64_t bytes,
			  struct wf_channel_shape *ret_shape);

/*
 * Makes a view for the receiver or, if is_sender, for sender number `sender`.
 * No other end may have that number. Returns 0 or -EPROTO.
 */
int wf_channel_queue_attach(struct wf_channel_queue *r, void *memory,
			    const struct wf_channel_shape *shape,
			    bool is_sender, uint32_t sender);

/*
 * For senders. claim returns 0, -EAGAIN if the queue is full, or -EPROTO.
 * *ret_word is the word of the slot that it read. After 0 the sender has the
 * slot, at room, until publish or give_up. These two return 0, or -EPIPE if
 * another process has taken the sender for dead.
 */
int wf_channel_queue_claim(struct wf_channel_queue *r, uint64_t *ret_word);
void *wf_channel_queue_room(const struct wf_channel_queue *r);
int wf_channel_queue_publish(struct wf_channel_queue *r, uint32_t size);
int wf_channel_queue_give_up(struct wf_channel_queue *r);
/* Abandons all slots that an earlier owner of r's number has claimed. */
void wf_channel_queue_abandon_all(struct wf_channel_queue *r);

/*
 * For the receiver. Returns 0 if there is a message, -EAGAIN if there is none,
 * or -EPROTO. *ret_word is the word of the slot that it read.
 */
int wf_channel_queue_peek(struct wf_channel_queue *r, uint64_t *ret_word);
/*
 * Stores where the message is that peek has found, and its size. Returns 0 or
 * -EPROTO.
 */
int wf_channel_queue_message(struct wf_channel_queue *r,
			     const void **ret_message, uint32_t *ret_size);
void wf_channel_queue_free(struct wf_channel_queue *r);
/*
 * Skips the receiver's present slot, which a dead sender has claimed, as `word`
 * says.
 */
void wf_channel_queue_skip(struct wf_channel_queue *r, uint64_t word);

/*
 * Returns the word of the end's present slot: a waiting end waits until it
 * changes.
 */
_Atomic uint64_t *wf_channel_queue_word(const struct wf_channel_queue *r);

static inline bool wf_channel_queue_is_many(const struct wf_channel_queue *r)
{
	return (r->shape.flags & WF_CHANNEL_FLAG_MANY) != 0;
}

static inline uint32_t
wf_channel_queue_nr_senders(const struct wf_channel_queue *r)
{
	return wf_channel_queue_is_many(r) ? WF_CHANNEL_SENDERS_MAX : 1;
}

static inline enum wf_channel_slot_state wf_channel_slot_state(uint64_t word)
{
	return (enum wf_channel_slot_state)(word &
					    ((1U << WF_SLOT_STATE_BITS) - 1));
}

static inline uint32_t wf_channel_slot_sender(uint64_t word)
{
	return (uint32_t)(word >> WF_SLOT_STATE_BITS) &
	       (WF_CHANNEL_SENDERS_MAX - 1);
}

static inline uint64_t wf_channel_slot_position(uint64_t word)
{
	return word >> WF_SLOT_POSITION_SHIFT;
}

static inline uint64_t wf_channel_slot_word(uint64_t position, uint32_t sender,
					    enum wf_channel_slot_state state)
{
	return position << WF_SLOT_POSITION_SHIFT |
	       (uint64_t)sender << WF_SLOT_STATE_BITS | (uint64_t)state;
}

#endif
