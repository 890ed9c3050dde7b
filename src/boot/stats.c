/* SPDX-License-Identifier: MIT */
/*
 * --stats: prints the counters once, however the process ends.
 *
 * For exit and the end of main, a handler is registered when the first thread
 * is made. exit runs handlers in reverse order. So a handler that the program
 * has registered before, and that closes standard error as in coreutils, runs
 * after the report. quick_exit has such a handler, too. The wrappers of _exit,
 * _Exit and syscall(SYS_exit_group) print. A signal that ends the process
 * prints by weft's trampoline (signal/action.c, ACTION-7).
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "base/options.h"
#include "boot/boot.h"
#include "mem/slot.h"
#include "os/sys.h"
#include "sched/vp.h"
#include "signal/action.h"
#include "trace/report.h"

enum { BYTES_PER_KIB = 1024 };

static _Atomic bool is_printed;

/*
 * Sets the figures that are measured at the end and not counted as they change.
 */
static void measure(void)
{
	uint32_t nr;
	size_t bytes = wf_slot_mapped(&nr);
	struct rusage usage = { 0 };

	wf_count_most(stacks, nr);
	wf_count_most(stack_kib, bytes / BYTES_PER_KIB);
	if (wf_sys(SYS_getrusage, RUSAGE_SELF, &usage) == 0)
		wf_count_most(peak_kib, usage.ru_maxrss);
}

void wf_boot_stats_print(void)
{
	/* Static, since the exiting thread may have a small stack. Only one
	 * thread comes here. */
	static const struct wf_counters *of_vps[WF_VPS_MAX];
	uint32_t nr = wf_is_started() ? wf_sched.nr_vps : 0;

	if (!wf_options.stats || wf_is_vfork_child() ||
	    atomic_exchange(&is_printed, true))
		return;
	for (uint32_t i = 0; i < nr; i++)
		of_vps[i] = &wf_sched.vps[i].counters;
	measure();
	wf_report_print(of_vps, nr);
}

/* If there is no memory for a handler, the library's destructor prints. */
void wf_boot_stats_register(void)
{
	static _Atomic bool is_registered;

	if (!wf_options.stats || atomic_exchange(&is_registered, true))
		return;
	atexit(wf_boot_stats_print);
	at_quick_exit(wf_boot_stats_print);
}

/* In a child of fork: it prints nothing unless it makes threads. */
void wf_boot_stats_fork_child(void)
{
	wf_store_relaxed(&is_printed, true);
}

/* Called when a child of fork makes its first thread: from now on it prints. */
void wf_boot_stats_begin(void)
{
	wf_store_relaxed(&is_printed, false);
}

__attribute__((destructor)) static void fini(void)
{
	wf_boot_stats_print();
}
