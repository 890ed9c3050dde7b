/* SPDX-License-Identifier: MIT */
/*
 * Prints the counters in the form of --stats: one line per row, or one JSON
 * object on one line.
 *
 *     wf_report_print(of_vps, wf_sched.nr_vps);
 */
#ifndef WEFT_TRACE_REPORT_H
#define WEFT_TRACE_REPORT_H

#include <stddef.h>

struct wf_counters;

/*
 * Prints the counters of the process and of `nr` VPs. The report goes to the
 * file of --stats-file, else to standard error if that is open (os/output.h).
 * With nr 0 the text form says that there were no threads; the JSON form has
 * all keys as always. Call it once. Safe in a signal handler; blocks as open(2)
 * and write(2) do.
 */
void wf_report_print(const struct wf_counters *const *of_vps, size_t nr);

#endif
