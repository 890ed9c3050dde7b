/* Prints the counters: one table, one line a row. */
#ifndef WEFT_TRACE_REPORT_H
#define WEFT_TRACE_REPORT_H

#include <stddef.h>

struct wf_counters;

/*
 * Prints the process's and `nr` VPs' counters to standard error, if that is
 * there (os/output.h); with nr 0 that there were no threads. Safe in a
 * signal handler; blocks as write(2) does.
 */
void wf_report_print(const struct wf_counters *const *of_vps, size_t nr);

#endif
