/* Signals to threads, for syscall(). */
#ifndef WEFT_API_SIGNAL_H
#define WEFT_API_SIGNAL_H

/* As the system call: a negative error number on failure. */
long wf_signal_tgkill(long pid, long tid, long sig);

#endif
