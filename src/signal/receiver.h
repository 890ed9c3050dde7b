/*
 * The receiver: a kernel thread that takes signals to the process while the
 * carriers sleep, which block everything.
 */
#ifndef WEFT_SIGNAL_RECEIVER_H
#define WEFT_SIGNAL_RECEIVER_H

#include <stdint.h>

/* Starts it; it wants nothing yet. 0 or -Exxx. */
int wf_receiver_start(void);
void wf_receiver_fork_child(void);

/* Some thread takes these from now on. Any thread, in_runtime set. */
void wf_receiver_want(uint64_t set);
/* What the receiver waits for, or is about to. */
uint64_t wf_receiver_takes(void);
/* What of set the receiver does not take. */
uint64_t wf_receiver_unwanted(uint64_t set);
/* Nobody takes these. */
void wf_receiver_shrink(uint64_t set);
/*
 * The same, for who looks for takers again afterwards: the receiver does not
 * wait for them when it returns, but for those that somebody has come to want.
 * It may not be told where no real-time signals can be sent.
 */
void wf_receiver_leave_to_kernel(uint64_t set);

/* Waits until the receiver has handed on what it has in hand. */
void wf_receiver_settle(void);

/* 0 until it has started. */
int wf_receiver_tid(void);

#endif
