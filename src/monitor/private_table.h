/* SPDX-License-Identifier: MIT */
/*
 * Gives the monitor a descriptor table that the program does not share.
 *
 *     wf_private_table_make();	on the monitor
 *     wf_private_table_wait(100 * WF_NS_PER_MS);	on the starting thread
 */
#ifndef WEFT_MONITOR_PRIVATE_TABLE_H
#define WEFT_MONITOR_PRIVATE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Unshares the calling kernel thread's descriptor table, and closes its copies
 * of the program's files. If the kernel refuses, the thread keeps the program's
 * table.
 */
void wf_private_table_make(void);
/*
 * True if the table is unshared. Descriptors that the monitor keeps open then
 * take no numbers from the program.
 */
bool wf_private_table_is_made(void);

/*
 * True if all copies of the program's descriptors are closed. Until then the
 * close of a copy may cancel a notification that the program has registered by
 * mq_notify, as any close in the process does. Any thread may call it.
 */
bool wf_private_table_is_ready(void);

/*
 * Waits until the copies are closed. wf_boot_start calls it before it returns:
 * a file that the program closes next then has no other copy, and its reader
 * gets the end of file. A file system may answer late, so the wait ends after
 * most_ns. While the closing kernel thread waits for a CPU, it lasts most_ns
 * more each time, and 10 s in all.
 */
void wf_private_table_wait(int64_t most_ns);

/*
 * Ends the kernel thread that closes the copies. Returns as wf_service_dismiss
 * does.
 */
bool wf_private_table_dismiss(void);
void wf_private_table_fork_child(void);

#endif
