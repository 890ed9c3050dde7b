/* SPDX-License-Identifier: MIT */
/*
 * The queue of a channel. The word of each slot has the position of a message,
 * the state of the slot, and the number of the sender that claimed it. So the
 * message and its announcement share a cache line. A claim and its owner are
 * one store: a slot that a dead sender claimed always has its number.
 *
 *     FREE(p) -> FULL(p)          the only sender            [publish]
 *     FREE(p) -> CLAIMED(p, s)    one of many, by CAS        [claim]
 *     CLAIMED(p, s) -> FULL(p)    s, by CAS                  [publish]
 *     CLAIMED(p, s) -> ABANDONED  s, or the next sender s    [give_up]
 *     FULL(p) -> FREE(p + n)      the receiver               [free]
 *     ABANDONED(p) -> FREE(p + n) the receiver               [peek]
 *     CLAIMED(p, s) -> FREE(p + n) the receiver, s is dead   [skip]
 *
 * CHANNEL_QUEUE-1. The words of the n slots have n successive positions; slot i
 *     has a position that is i modulo n. The receiver's position is the lowest.
 *     Slots from it up to the tail are not FREE, slots from the tail on are.
 * CHANNEL_QUEUE-2. A position (54 bits) never comes again, so a CAS that
 *     expects an old one cannot succeed.
 * CHANNEL_QUEUE-3. header->head and header->tail are hints. A hint is too low
 *     if its writer died between two stores, and never too high. An end that
 *     begins with a hint goes up until the words agree.
 * CHANNEL_QUEUE-4. A value from the memory is masked, or compared with this
 *     end's copy of the shape, before it is an index, a size or a loop count. A
 *     value that no honest peer writes gives -EPROTO.
 *
 * Rejected: a tail that senders increment before they write their number into
 * the slot. A sender that is killed in between would block the queue for ever.
 * Rejected: free slots counted by a head that senders read. That is one more
 * cache line that moves between CPUs.
 */
#include "ipc/channel_queue.h"

#include <errno.h>

#include "arch/arch.h"

/*
 * After so many lost races a sender returns -EPROTO: a hostile peer forges the
 * tail.
 */
#define CLAIM_TRIES 1000000

uint32_t wf_channel_slots_for(uint32_t messages)
{
	uint32_t nr = 2;

	while (nr <= messages && nr < WF_CHANNEL_SLOTS_MAX)
		nr *= 2;
	return nr;
}

static uint32_t stride_of(uint32_t message_size)
{
	return wf_align_up((uint32_t)offsetof(struct wf_channel_slot, room) +
				   message_size,
			   (uint32_t)WF_CACHE_LINE);
}

bool wf_channel_shape_is_valid(const struct wf_channel_shape *shape)
{
	return (shape->flags & ~WF_CHANNEL_FLAG_MANY) == 0 &&
	       shape->message_size >= 1 &&
	       shape->message_size <= WF_CHANNEL_MESSAGE_MAX &&
	       shape->nr_slots >= 2 &&
	       shape->nr_slots <= WF_CHANNEL_SLOTS_MAX &&
	       (shape->nr_slots & (shape->nr_slots - 1)) == 0;
}

uint64_t wf_channel_queue_bytes(const struct wf_channel_shape *shape)
{
	return WF_CHANNEL_HEADER_BYTES +
	       (uint64_t)shape->nr_slots * stride_of(shape->message_size);
}

void wf_channel_queue_format(void *memory, const struct wf_channel_shape *shape)
{
	struct wf_channel_header *header = memory;
	unsigned char *slot = (unsigned char *)memory + WF_CHANNEL_HEADER_BYTES;

	header->magic = WF_CHANNEL_MAGIC;
	header->version = WF_CHANNEL_VERSION;
	header->flags = shape->flags;
	header->message_size = shape->message_size;
	header->nr_slots = shape->nr_slots;
	for (uint32_t i = 0; i < shape->nr_slots; i++) {
		wf_store_relaxed(&((struct wf_channel_slot *)slot)->word,
				 wf_channel_slot_word(i, 0,
						      /* CHANNEL_QUEUE-1 */
						      WF_SLOT_FREE));
		slot += stride_of(shape->message_size);
	}
}

int wf_channel_shape_read(const void *memory, uint64_t bytes,
			  struct wf_channel_shape *ret_shape)
{
	/*
	 * volatile: reads each field once, since other processes may write
	 * meanwhile. CHANNEL_QUEUE-4
	 */
	const volatile struct wf_channel_header *header = memory;
	struct wf_channel_shape shape;

	if (bytes < WF_CHANNEL_HEADER_BYTES ||
	    header->magic != WF_CHANNEL_MAGIC ||
	    header->version != WF_CHANNEL_VERSION)
		return -EPROTO;
	shape.flags = header->flags;
	shape.message_size = header->message_size;
	shape.nr_slots = header->nr_slots;
	if (!wf_channel_shape_is_valid(&shape) ||
	    wf_channel_queue_bytes(&shape) > bytes)
		return -EPROTO;
	*ret_shape = shape;
	return 0;
}

static struct wf_channel_slot *slot_at(const struct wf_channel_queue *r,
				       uint64_t position)
{
	uint64_t index = position &
			 (r->shape.nr_slots - 1); /* CHANNEL_QUEUE-4: masked */

	return (struct wf_channel_slot *)(r->slots + index * r->stride);
}

static uint64_t plus(uint64_t position, uint64_t nr)
{
	return (position + nr) & WF_SLOT_POSITION_MASK;
}

/* True if the slot of `position` still has the message of the round before. */
static bool is_full(const struct wf_channel_queue *r, uint64_t word,
		    uint64_t position)
{
	return wf_channel_slot_state(word) != WF_SLOT_FREE &&
	       plus(wf_channel_slot_position(word), r->shape.nr_slots) ==
		       position;
}

/* True if `word` shows that `position` is the next to be written. */
static bool is_tail(const struct wf_channel_queue *r, uint64_t word,
		    uint64_t position)
{
	return word == wf_channel_slot_word(position, 0, WF_SLOT_FREE) ||
	       is_full(r, word, position);
}

/*
 * True if `word` shows that the position has been claimed, or even freed again.
 */
static bool is_past(const struct wf_channel_queue *r, uint64_t word,
		    uint64_t position)
{
	return wf_channel_slot_position(word) == position ||
	       wf_channel_slot_position(word) ==
		       plus(position, r->shape.nr_slots);
}

/*
 * Goes up from the hint to the first position of this end, and stores it.
 * CHANNEL_QUEUE-3
 */
static int recover(struct wf_channel_queue *r, bool is_sender, uint64_t hint)
{
	uint64_t position = hint & WF_SLOT_POSITION_MASK;

	for (uint32_t i = 0; i <= r->shape.nr_slots; i++) {
		/* acquire: pairs with the release in publish and free. */
		uint64_t word = wf_load_acquire(&slot_at(r, position)->word);
		bool is_found = is_sender ? is_tail(r, word, position) :
					    wf_channel_slot_position(word) ==
						    position;

		if (is_found) {
			r->position = position;
			return 0;
		}
		if (!is_past(r, word, position))
			return -EPROTO;
		position = plus(position, 1);
	}
	return -EPROTO;
}

int wf_channel_queue_attach(struct wf_channel_queue *r, void *memory,
			    const struct wf_channel_shape *shape,
			    bool is_sender, uint32_t sender)
{
	struct wf_channel_header *header = memory;

	*r = (struct wf_channel_queue){
		.header = header,
		.slots = (unsigned char *)memory + WF_CHANNEL_HEADER_BYTES,
		.shape = *shape,
		.stride = stride_of(shape->message_size),
		.sender = sender,
	};
	if (is_sender && wf_channel_queue_is_many(r)) {
		r->position = wf_load_relaxed(&header->tail) &
			      WF_SLOT_POSITION_MASK;
		return 0;
	}
	return recover(r, is_sender,
		       wf_load_relaxed(is_sender ? &header->tail :
						   &header->head));
}

_Atomic uint64_t *wf_channel_queue_word(const struct wf_channel_queue *r)
{
	return &slot_at(r, r->position)->word;
}

void *wf_channel_queue_room(const struct wf_channel_queue *r)
{
	return slot_at(r, r->position)->room;
}

/*
 * Claims the slot at the tail, with the word `word`; or advances a tail that is
 * too low. Returns 0 or an error; -EAGAIN: the caller may try again.
 */
static int claim_at(struct wf_channel_queue *r, uint64_t tail, uint64_t word)
{
	uint64_t hint = tail;

	if (word == wf_channel_slot_word(tail, 0, WF_SLOT_FREE)) {
		uint64_t claimed =
			wf_channel_slot_word(tail, r->sender, WF_SLOT_CLAIMED);

		/* CHANNEL_QUEUE-2: fails if another sender has claimed the
		 * slot. */
		if (!wf_cas_acq_rel(wf_channel_queue_word(r), &word, claimed))
			return -EAGAIN;
		wf_cas_acq_rel(&r->header->tail, &hint, plus(tail, 1));
		return 0;
	}
	if (is_past(r, word, tail)) /* CHANNEL_QUEUE-3: the tail is too low */
		wf_cas_acq_rel(&r->header->tail, &hint, plus(tail, 1));
	else if (wf_load_relaxed(&r->header->tail) == tail)
		return -EPROTO;
	return -EAGAIN;
}

static int claim_among_many(struct wf_channel_queue *r, uint64_t *ret_word)
{
	for (int i = 0; i < CLAIM_TRIES; i++) {
		uint64_t tail = wf_load_acquire(&r->header->tail);
		int rc;

		if (tail > WF_SLOT_POSITION_MASK)
			return -EPROTO;
		r->position = tail;
		/*
		 * acquire: the receiver has read the old message; pairs with
		 * the release in wf_channel_queue_free.
		 */
		*ret_word = wf_load_acquire(wf_channel_queue_word(r));
		if (is_full(r, *ret_word, tail))
			return -EAGAIN;
		rc = claim_at(r, tail, *ret_word);
		if (rc != -EAGAIN)
			return rc;
	}
	return -EPROTO;
}

int wf_channel_queue_claim(struct wf_channel_queue *r, uint64_t *ret_word)
{
	if (wf_channel_queue_is_many(r))
		return claim_among_many(r, ret_word);
	/* acquire: the receiver has read the old message; pairs with the
	 * release in wf_channel_queue_free. */
	*ret_word = wf_load_acquire(wf_channel_queue_word(r));
	if (WF_LIKELY(*ret_word ==
		      wf_channel_slot_word(r->position, 0, WF_SLOT_FREE)))
		return 0;
	return is_full(r, *ret_word, r->position) ? -EAGAIN : -EPROTO;
}

/*
 * Ends this sender's claim in a queue with many senders: the slot gets `state`.
 * Returns 0, or -EPIPE if the claim was taken away.
 */
static int settle(struct wf_channel_queue *r, enum wf_channel_slot_state state)
{
	uint64_t mine =
		wf_channel_slot_word(r->position, r->sender, WF_SLOT_CLAIMED);
	uint64_t settled = wf_channel_slot_word(r->position, r->sender, state);

	/* release: publishes the message; pairs with the acquire in peek. */
	return wf_cas_acq_rel(wf_channel_queue_word(r), &mine, settled) ?
		       0 :
		       -EPIPE;
}

int wf_channel_queue_publish(struct wf_channel_queue *r, uint32_t size)
{
	struct wf_channel_slot *slot = slot_at(r, r->position);

	wf_store_relaxed(&slot->size, size);
	wf_store_relaxed(&slot->cpu, r->cpu);
	if (wf_channel_queue_is_many(r))
		return settle(r, WF_SLOT_FULL);
	/* release: publishes the message; pairs with the acquire in peek. */
	wf_store_release(&slot->word,
			 wf_channel_slot_word(r->position, 0, WF_SLOT_FULL));
	r->position = plus(r->position, 1);
	/* CHANNEL_QUEUE-3: a hint */
	wf_store_relaxed(&r->header->tail, r->position);
	/* Prefetches the next slot: the receiver freed it, so the receiver's
	 * CPU has its cache line. */
	__builtin_prefetch(slot_at(r, r->position));
	return 0;
}

int wf_channel_queue_give_up(struct wf_channel_queue *r)
{
	return wf_channel_queue_is_many(r) ? settle(r, WF_SLOT_ABANDONED) : 0;
}

void wf_channel_queue_abandon_all(struct wf_channel_queue *r)
{
	for (uint32_t i = 0; i < r->shape.nr_slots; i++) {
		_Atomic uint64_t *at = &slot_at(r, i)->word;
		uint64_t word = wf_load_relaxed(at);

		if (wf_channel_slot_state(word) == WF_SLOT_CLAIMED &&
		    wf_channel_slot_sender(word) == r->sender)
			wf_cas_acq_rel(at, &word,
				       /* CHANNEL_QUEUE-2: if it still is */
				       word | WF_SLOT_ABANDONED);
	}
}

/*
 * Returns the word that the end's slot has when it is free for its next
 * position.
 */
static uint64_t freed(const struct wf_channel_queue *r)
{
	return wf_channel_slot_word(plus(r->position, r->shape.nr_slots), 0,
				    WF_SLOT_FREE);
}

static void step(struct wf_channel_queue *r)
{
	r->position = plus(r->position, 1);
	/* CHANNEL_QUEUE-3: a hint */
	wf_store_relaxed(&r->header->head, r->position);
}

int wf_channel_queue_peek(struct wf_channel_queue *r, uint64_t *ret_word)
{
	for (uint32_t i = 0; i <= r->shape.nr_slots; i++) {
		/* acquire: the message; pairs with the release in publish. */
		uint64_t word = wf_load_acquire(wf_channel_queue_word(r));

		*ret_word = word;
		if (wf_channel_slot_position(word) != r->position)
			return -EPROTO;
		if (wf_channel_slot_state(word) == WF_SLOT_FULL)
			return 0;
		if (wf_channel_slot_state(word) != WF_SLOT_ABANDONED)
			return -EAGAIN;
		wf_channel_queue_free(r);
	}
	return -EPROTO;
}

int wf_channel_queue_message(struct wf_channel_queue *r,
			     const void **ret_message, uint32_t *ret_size)
{
	struct wf_channel_slot *slot = slot_at(r, r->position);
	uint32_t size =
		wf_load_relaxed(&slot->size); /* read once: CHANNEL_QUEUE-4 */

	if (size > r->shape.message_size)
		return -EPROTO;
	r->cpu = wf_load_relaxed(&slot->cpu);
	*ret_message = slot->room;
	*ret_size = size;
	return 0;
}

void wf_channel_queue_free(struct wf_channel_queue *r)
{
	/* release: the message was read; pairs with the acquire in claim. */
	wf_store_release(wf_channel_queue_word(r), freed(r));
	step(r);
}

void wf_channel_queue_skip(struct wf_channel_queue *r, uint64_t word)
{
	/* Fails if the sender number has a new owner, which has abandoned the
	 * slot. */
	if (wf_cas_acq_rel(wf_channel_queue_word(r), &word, freed(r)))
		step(r);
}
