/* The monitor's own table of descriptors. */
#ifndef WEFT_BOOT_OWN_TABLE_H
#define WEFT_BOOT_OWN_TABLE_H

#include <stdbool.h>

/*
 * Gives the calling kernel thread a table of its own, without the program's
 * files. Where that is refused, it goes on with the program's.
 */
void wf_own_table_make(void);

/*
 * All copies of the program's descriptors are closed. Till then what the
 * process registers by mq_notify may be taken back, as it is by any close.
 * Anybody.
 */
bool wf_own_table_is_ready(void);

void wf_own_table_fork_child(void);

#endif
