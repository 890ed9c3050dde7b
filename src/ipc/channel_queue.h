/* SPDX-License-Identifier: MIT */
/*
 * A queue of messages in memory that other processes write to as well: the
 * layout, and the protocol as far as it is memory accesses alone. None of
 * these functions blocks, makes a system call or believes what it reads.
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

#define WF_CHANNEL_MAGIC 0x6c6e6e6863746677ULL /* "wftchnnl" */
#define WF_CHANNEL_VERSION 1U
#define WF_CHANNEL_HEADER_BYTES 4096U
#define WF_CHANNEL_MESSAGE_MAX 65536U
#define WF_CHANNEL_SLOTS_MAX (1U << 20)
#define WF_CHANNEL_SENDERS_MAX 64U
#define WF_CHANNEL_FLAG_MANY 1U

/* States of a slot, in the lowest bits of its word. */
enum wf_channel_slot_state {
	WF_SLOT_FREE = 0,     /* for the message of this position */
	WF_SLOT_CLAIMED = 1,  /* a sender writes it; only with many senders */
	WF_SLOT_FULL = 2,     /* a message */
	WF_SLOT_ABANDONED = 3 /* claimed, and nobody will write it */
};

/* A slot's word: state, number of the sender, position of the message. */
#define WF_SLOT_STATE_BITS 2
#define WF_SLOT_POSITION_SHIFT 10
#define WF_SLOT_POSITION_MASK (UINT64_MAX >> WF_SLOT_POSITION_SHIFT)

struct wf_channel_slot {
	_Atomic uint64_t word;
	_Atomic uint32_t size; /* of the message; written by who claimed it */
	_Atomic uint32_t cpu;  /* a hint: where it was written, 0: unknown */
	unsigned char room[];  /* aligned to 16 */
};

/* What lies at the beginning of the memory. */
struct wf_channel_header {
	/* Written once, by who made it. */
	uint64_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t message_size;
	uint32_t nr_slots;
	/* Hints for who takes an end over, and where senders begin to look. */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint64_t head;
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint64_t tail;
	/* WF_BELL_WANTED: the receiver, or senders, sleep or are about to. */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t message_bell;
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t room_bell;
	/* A hint, as a message has it: where the receiver waited last. */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t receiver_cpu;
	/* What has become of the ends (peer.c), and senders found dead. */
	WF_ALIGNED(WF_CACHE_LINE) _Atomic uint32_t receiver;
	_Atomic uint32_t nr_died;
	WF_ALIGNED(WF_CACHE_LINE)
	_Atomic uint32_t sender[WF_CHANNEL_SENDERS_MAX];
};
_Static_assert(sizeof(struct wf_channel_header) <= WF_CHANNEL_HEADER_BYTES,
	       "the slots begin behind the header");

/* What a queue is like; a private copy is all that is ever computed with. */
struct wf_channel_shape {
	uint32_t flags;
	uint32_t message_size;
	uint32_t nr_slots; /* a power of two */
};

/* One end's view; nothing in it is shared. */
struct wf_channel_queue {
	struct wf_channel_header *header;
	unsigned char *slots;
	uint64_t position; /* of the next message, or the one at hand */
	struct wf_channel_shape shape;
	uint32_t stride; /* from slot to slot, bytes */
	uint32_t sender; /* this sender's number */
	uint32_t cpu;	 /* what its messages say; what the last one said */
};

/* The slots that hold `messages`, and one that is freed late. */
uint32_t wf_channel_slots_for(uint32_t messages);
/* False if a shape is none that this version knows. */
bool wf_channel_shape_is_valid(const struct wf_channel_shape *shape);
/* Bytes of a valid shape. */
uint64_t wf_channel_queue_bytes(const struct wf_channel_shape *shape);

/* Fills zeroed memory of wf_channel_queue_bytes(shape). */
void wf_channel_queue_format(void *memory,
			     const struct wf_channel_shape *shape);
/* Reads the shape of memory of that size; -EPROTO if it is no queue. */
int wf_channel_shape_read(const void *memory, uint64_t bytes,
			  struct wf_channel_shape *ret_shape);

/*
 * A view for the receiver or, if is_sender, for sender number `sender`, which
 * nobody else may be. 0, or -EPROTO.
 */
int wf_channel_queue_attach(struct wf_channel_queue *r, void *memory,
			    const struct wf_channel_shape *shape,
			    bool is_sender, uint32_t sender);

/*
 * Senders. claim: 0, -EAGAIN if the queue is full, -EPROTO; *ret_word is then
 * the word of the slot that it looked at. After 0 the room is this sender's,
 * until publish or give_up, which return 0, or -EPIPE if somebody took the
 * sender for dead.
 */
int wf_channel_queue_claim(struct wf_channel_queue *r, uint64_t *ret_word);
void *wf_channel_queue_room(const struct wf_channel_queue *r);
int wf_channel_queue_publish(struct wf_channel_queue *r, uint32_t size);
int wf_channel_queue_give_up(struct wf_channel_queue *r);
/* Abandons what the last owner of r's number left claimed. */
void wf_channel_queue_abandon_all(struct wf_channel_queue *r);

/*
 * The receiver. look: 0 if there is a message, -EAGAIN if there is none,
 * -EPROTO; *ret_word is then the word of the slot that it looked at.
 */
int wf_channel_queue_peek(struct wf_channel_queue *r, uint64_t *ret_word);
/* After look: the message at hand. 0 or -EPROTO. */
int wf_channel_queue_message(struct wf_channel_queue *r,
			     const void **ret_message, uint32_t *ret_size);
void wf_channel_queue_free(struct wf_channel_queue *r);
/* Passes over the slot at hand, claimed as `word` says by one that is dead. */
void wf_channel_queue_skip(struct wf_channel_queue *r, uint64_t word);

/* The word whose change a waiting end is waiting for. */
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
