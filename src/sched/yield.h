/* sched_yield: other runnable threads first, of this VP or another. */
#ifndef WEFT_SCHED_YIELD_H
#define WEFT_SCHED_YIELD_H

/* in_runtime 0. Without anybody to run, the kernel is asked to yield. */
void wf_sched_yield(void);

#endif
