/* SPDX-License-Identifier: MIT */
/* The monitor's own table of descriptors. */
#ifndef WEFT_BOOT_PRIVATE_TABLE_H
#define WEFT_BOOT_PRIVATE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Gives the calling kernel thread a table of its own, without the program's
 * files. Where that is refused, it goes on with the program's.
 */
void wf_private_table_make(void);
/* It has one: what it keeps open is no number of the program's. */
bool wf_private_table_is_made(void);

/*
 * All copies of the program's descriptors are closed. Till then what the
 * process registers by mq_notify may be taken back, as it is by any close.
 * Anybody.
 */
bool wf_private_table_is_ready(void);

/*
 * The first pthread_create returns when that is so: what the program closes
 * next has no other copy then, and who reads from it sees the end. But it does
 * not wait for long, for a file system may answer late: most_ns, and on a
 * busy machine as much again as long as no CPU is to be had, 10 s at most.
 */
void wf_private_table_wait(int64_t most_ns);

/* Waits for the kernel thread that closes the copies: wf_service_dismiss. */
bool wf_private_table_dismiss(void);
void wf_private_table_fork_child(void);

#endif
