/* SPDX-License-Identifier: MIT */
/*
 * The queue of a channel checks the contents of shared memory before it uses
 * them.
 */
#include "ipc/channel_queue.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

struct fixture {
	struct wf_channel_shape shape;
	void *memory;
	struct wf_channel_queue sender, receiver;
};

static struct fixture f;

static void make(uint32_t flags, uint32_t message_size, uint32_t messages)
{
	f.shape = (struct wf_channel_shape){ flags, message_size,
					     wf_channel_slots_for(messages) };
	assert_true(wf_channel_shape_is_valid(&f.shape));
	f.memory = aligned_alloc(
		4096, (wf_channel_queue_bytes(&f.shape) + 4095) & ~4095ULL);
	assert_non_null(f.memory);
	memset(f.memory, 0, wf_channel_queue_bytes(&f.shape));
	wf_channel_queue_format(f.memory, &f.shape);
	assert_int_equal(wf_channel_queue_attach(&f.sender, f.memory, &f.shape,
						 true, 0),
			 0);
	assert_int_equal(wf_channel_queue_attach(&f.receiver, f.memory,
						 &f.shape, false, 0),
			 0);
}

static int unmake(void **state)
{
	free(f.memory);
	f.memory = NULL;
	return 0;
}

static int send(struct wf_channel_queue *r, uint64_t value)
{
	uint64_t word;
	int rc = wf_channel_queue_claim(r, &word);

	if (rc != 0)
		return rc;
	memcpy(wf_channel_queue_room(r), &value, sizeof(value));
	return wf_channel_queue_publish(r, sizeof(value));
}

/* Returns the value, or -Exxx. */
static int64_t receive(struct wf_channel_queue *r)
{
	const void *message;
	uint64_t word, value;
	uint32_t size;
	int rc = wf_channel_queue_peek(r, &word);

	if (rc == 0)
		rc = wf_channel_queue_message(r, &message, &size);
	if (rc != 0)
		return rc;
	assert_int_equal(size, sizeof(value));
	memcpy(&value, message, sizeof(value));
	wf_channel_queue_free(r);
	return (int64_t)value;
}

static struct wf_channel_slot *slot(uint32_t index)
{
	return (struct wf_channel_slot *)(f.sender.slots +
					  index * f.sender.stride);
}

static void slots_hold_one_message_more(void **state)
{
	assert_int_equal(wf_channel_slots_for(1), 2);
	assert_int_equal(wf_channel_slots_for(2), 4);
	assert_int_equal(wf_channel_slots_for(3), 4);
	assert_int_equal(wf_channel_slots_for(WF_CHANNEL_SLOTS_MAX - 1),
			 WF_CHANNEL_SLOTS_MAX);
}

static void a_small_message_is_in_one_cache_line(void **state)
{
	struct wf_channel_shape shape = { 0, 48, 2 };

	assert_int_equal(wf_channel_queue_bytes(&shape),
			 WF_CHANNEL_HEADER_BYTES + 2 * 64);
	shape.message_size = 49;
	assert_int_equal(wf_channel_queue_bytes(&shape),
			 WF_CHANNEL_HEADER_BYTES + 2 * 128);
}

static void messages_come_in_order(void **state)
{
	make(0, 8, 3);
	for (uint64_t i = 0; i < 100; i += 2) {
		assert_int_equal(send(&f.sender, i), 0);
		assert_int_equal(send(&f.sender, i + 1), 0);
		assert_int_equal(receive(&f.receiver), i);
		assert_int_equal(receive(&f.receiver), i + 1);
		assert_int_equal(receive(&f.receiver), -EAGAIN);
	}
}

static void a_full_ring_refuses(void **state)
{
	for (uint32_t flags = 0; flags <= WF_CHANNEL_FLAG_MANY; flags++) {
		make(flags, 8, 3);
		for (uint64_t i = 0; i < 4; i++)
			assert_int_equal(send(&f.sender, i), 0);
		assert_int_equal(send(&f.sender, 4), -EAGAIN);
		assert_int_equal(receive(&f.receiver), 0);
		assert_int_equal(send(&f.sender, 4), 0);
		assert_int_equal(send(&f.sender, 5), -EAGAIN);
		unmake(NULL);
	}
}

static void shape_is_read_only_if_it_is_good(void **state)
{
	struct wf_channel_header *header;
	struct wf_channel_shape shape = { 9, 9, 9 };
	uint64_t bytes;

	make(WF_CHANNEL_FLAG_MANY, 100, 7);
	header = f.memory;
	bytes = wf_channel_queue_bytes(&f.shape);
	assert_int_equal(wf_channel_shape_read(f.memory, bytes - 1, &shape),
			 -EPROTO);
	assert_int_equal(shape.flags, 9);
	assert_int_equal(wf_channel_shape_read(f.memory, bytes, &shape), 0);
	assert_memory_equal(&shape, &f.shape, sizeof(shape));

#define REFUSED_WITH(field, value)                                      \
	do {                                                            \
		__auto_type saved = header->field;                      \
		header->field = (value);                                \
		assert_int_equal(wf_channel_shape_read(f.memory, bytes, \
						       &shape),         \
				 -EPROTO);                              \
		header->field = saved;                                  \
	} while (0)
	REFUSED_WITH(magic, 0);
	REFUSED_WITH(version, WF_CHANNEL_VERSION + 1);
	REFUSED_WITH(flags, 2);
	REFUSED_WITH(message_size, 0);
	REFUSED_WITH(message_size, WF_CHANNEL_MESSAGE_MAX + 1);
	REFUSED_WITH(message_size, UINT32_MAX);
	REFUSED_WITH(nr_slots, 0);
	REFUSED_WITH(nr_slots, 1);
	REFUSED_WITH(nr_slots, 6);
	REFUSED_WITH(nr_slots, 16);
	REFUSED_WITH(nr_slots, 1U << 31);
	assert_int_equal(wf_channel_shape_read(f.memory, bytes, &shape), 0);
}

static void a_size_beyond_the_slot_is_refused(void **state)
{
	const void *message;
	uint64_t word;
	uint32_t size;

	make(0, 8, 3);
	assert_int_equal(send(&f.sender, 1), 0);
	wf_store_relaxed(&slot(0)->size, 9);
	assert_int_equal(wf_channel_queue_peek(&f.receiver, &word), 0);
	assert_int_equal(wf_channel_queue_message(&f.receiver, &message, &size),
			 -EPROTO);
}

static void a_forged_word_is_refused(void **state)
{
	uint64_t word;

	make(0, 8, 3);
	wf_store_relaxed(&slot(0)->word,
			 wf_channel_slot_word(4, 0, WF_SLOT_FULL));
	assert_int_equal(wf_channel_queue_peek(&f.receiver, &word), -EPROTO);
	wf_store_relaxed(&slot(0)->word,
			 wf_channel_slot_word(1, 0, WF_SLOT_FREE));
	assert_int_equal(wf_channel_queue_claim(&f.sender, &word), -EPROTO);
}

static void forged_hints_end_every_loop(void **state)
{
	struct wf_channel_header *header;
	uint64_t word;

	make(WF_CHANNEL_FLAG_MANY, 8, 3);
	header = f.memory;
	wf_store_relaxed(&header->tail, UINT64_MAX);
	assert_int_equal(wf_channel_queue_claim(&f.sender, &word), -EPROTO);
	wf_store_relaxed(&header->tail, 17);
	assert_int_equal(wf_channel_queue_claim(&f.sender, &word), -EPROTO);
	wf_store_relaxed(&header->head, 12345);
	assert_int_equal(wf_channel_queue_attach(&f.receiver, f.memory,
						 &f.shape, false, 0),
			 -EPROTO);
	/* Each slot is abandoned, so the receiver would skip slots for ever. */
	for (uint32_t i = 0; i < f.shape.nr_slots; i++)
		wf_store_relaxed(&slot(i)->word,
				 wf_channel_slot_word(i + 1, 0,
						      WF_SLOT_ABANDONED));
	wf_store_relaxed(&header->head, 0);
	assert_int_equal(wf_channel_queue_peek(&f.receiver, &word), -EPROTO);
}

/* New ends continue where the old ones stopped, at any position. */
static void ends_are_taken_over(void **state)
{
	struct wf_channel_header *header;
	struct wf_channel_queue late;

	make(0, 8, 3);
	header = f.memory;
	for (uint64_t i = 0; i < 6; i++) {
		assert_int_equal(send(&f.sender, i), 0);
		if (i < 3)
			assert_int_equal(receive(&f.receiver), i);
	}
	for (uint64_t behind = 0; behind <= 1; behind++) {
		wf_store_relaxed(&header->tail, 6 - behind);
		assert_int_equal(wf_channel_queue_attach(&late, f.memory,
							 &f.shape, true, 0),
				 0);
		assert_int_equal(late.position, 6);
		wf_store_relaxed(&header->head, 3 - behind);
		assert_int_equal(wf_channel_queue_attach(&late, f.memory,
							 &f.shape, false, 0),
				 0);
		assert_int_equal(late.position, 3);
	}
	assert_int_equal(send(&f.sender, 6), 0); /* the queue is full */
	assert_int_equal(
		wf_channel_queue_attach(&late, f.memory, &f.shape, true, 0), 0);
	assert_int_equal(late.position, 7);
	wf_store_relaxed(&header->tail, 6);
	assert_int_equal(
		wf_channel_queue_attach(&late, f.memory, &f.shape, true, 0), 0);
	assert_int_equal(late.position, 7);
}

static void a_claim_blocks_only_until_its_owner_is_gone(void **state)
{
	struct wf_channel_queue other;
	uint64_t word;

	make(WF_CHANNEL_FLAG_MANY, 8, 3);
	assert_int_equal(wf_channel_queue_attach(&other, f.memory, &f.shape,
						 true, 5),
			 0);
	assert_int_equal(wf_channel_queue_claim(&other, &word), 0);
	assert_int_equal(send(&f.sender, 1), 0);
	assert_int_equal(wf_channel_queue_peek(&f.receiver, &word), -EAGAIN);
	assert_int_equal(wf_channel_slot_state(word), WF_SLOT_CLAIMED);
	assert_int_equal(wf_channel_slot_sender(word), 5);
	wf_channel_queue_skip(&f.receiver, word);
	assert_int_equal(receive(&f.receiver), 1);
	/* A sender that others believed dead cannot publish. */
	assert_int_equal(wf_channel_queue_publish(&other, 8), -EPIPE);
	assert_int_equal(receive(&f.receiver), -EAGAIN);
}

static void the_next_owner_of_a_number_abandons(void **state)
{
	struct wf_channel_queue other;
	uint64_t word;

	make(WF_CHANNEL_FLAG_MANY, 8, 3);
	assert_int_equal(wf_channel_queue_attach(&other, f.memory, &f.shape,
						 true, 5),
			 0);
	assert_int_equal(wf_channel_queue_claim(&other, &word), 0);
	assert_int_equal(send(&f.sender, 1), 0);
	assert_int_equal(wf_channel_queue_claim(&f.sender, &word), 0);
	wf_channel_queue_abandon_all(&other);
	assert_int_equal(receive(&f.receiver), 1);
	/* Slots that other senders have claimed stay claimed. */
	assert_int_equal(receive(&f.receiver), -EAGAIN);
	assert_int_equal(wf_channel_queue_publish(&f.sender, 8), 0);
	assert_int_equal(wf_channel_queue_peek(&f.receiver, &word), 0);
}

static void a_tail_left_behind_is_helped_on(void **state)
{
	struct wf_channel_header *header;

	make(WF_CHANNEL_FLAG_MANY, 8, 3);
	header = f.memory;
	assert_int_equal(send(&f.sender, 1), 0);
	/* the sender was killed after the claim */
	wf_store_relaxed(&header->tail, 0);
	assert_int_equal(send(&f.sender, 2), 0);
	assert_int_equal(wf_load_relaxed(&header->tail), 2);
	assert_int_equal(receive(&f.receiver), 1);
	/* killed after the claim, and the message was taken */
	wf_store_relaxed(&header->tail, 0);
	assert_int_equal(send(&f.sender, 3), 0);
	assert_int_equal(receive(&f.receiver), 2);
	assert_int_equal(receive(&f.receiver), 3);
}

static void positions_wrap(void **state)
{
	struct wf_channel_header *header;

	for (uint32_t flags = 0; flags <= WF_CHANNEL_FLAG_MANY; flags++) {
		make(flags, 8, 3);
		header = f.memory;
		for (uint64_t i = 0; i < 4; i++) {
			uint64_t position = WF_SLOT_POSITION_MASK - 3 + i;

			wf_store_relaxed(&slot((uint32_t)i)->word,
					 wf_channel_slot_word(position, 0,
							      WF_SLOT_FREE));
		}
		wf_store_relaxed(&header->head, WF_SLOT_POSITION_MASK - 3);
		wf_store_relaxed(&header->tail, WF_SLOT_POSITION_MASK - 3);
		wf_channel_queue_attach(&f.sender, f.memory, &f.shape, true, 0);
		wf_channel_queue_attach(&f.receiver, f.memory, &f.shape, false,
					0);
		for (uint64_t i = 0; i < 20; i++) {
			assert_int_equal(send(&f.sender, i), 0);
			assert_int_equal(receive(&f.receiver), i);
		}
		unmake(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_hold_one_message_more),
		cmocka_unit_test(a_small_message_is_in_one_cache_line),
		cmocka_unit_test_teardown(messages_come_in_order, unmake),
		cmocka_unit_test(a_full_ring_refuses),
		cmocka_unit_test_teardown(shape_is_read_only_if_it_is_good,
					  unmake),
		cmocka_unit_test_teardown(a_size_beyond_the_slot_is_refused,
					  unmake),
		cmocka_unit_test_teardown(a_forged_word_is_refused, unmake),
		cmocka_unit_test_teardown(forged_hints_end_every_loop, unmake),
		cmocka_unit_test_teardown(ends_are_taken_over, unmake),
		cmocka_unit_test_teardown(
			a_claim_blocks_only_until_its_owner_is_gone, unmake),
		cmocka_unit_test_teardown(the_next_owner_of_a_number_abandons,
					  unmake),
		cmocka_unit_test_teardown(a_tail_left_behind_is_helped_on,
					  unmake),
		cmocka_unit_test(positions_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
