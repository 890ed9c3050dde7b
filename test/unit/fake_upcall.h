/* SPDX-License-Identifier: MIT */
/*
 * The members of wf_upcall that a unit test may need for its sources to work.
 * fake_upcall.c has a table of them, for tests that define none:
 *
 *     const struct wf_upcalls wf_upcall = {
 *             FAKE_UPCALLS,
 *             .thread_main = run,
 *     };
 */
#ifndef WEFT_TEST_FAKE_UPCALL_H
#define WEFT_TEST_FAKE_UPCALL_H

#include <stdlib.h>

#include "base/upcall.h"

#define FAKE_UPCALLS                                                  \
	.log_write = fake_log_write, .log_thread_id = fake_thread_id, \
	.abort = abort, .spin_lock_slow = fake_spin_lock_slow,        \
	.table_grows = fake_table_grows, .service_made = fake_service_made

void fake_log_write(const char *line, size_t len);
long fake_thread_id(void);
void fake_spin_lock_slow(struct wf_spin *s, enum wf_rank rank);
int fake_table_grows(uint32_t nr_threads);
void fake_service_made(int tid);

#endif
