/* SPDX-License-Identifier: MIT */
/*
 * Fills the table of the calls that go up (base/upcall.h). It lies in the
 * highest folder, since it names functions of many layers.
 *
 * Every member of the table has a function, and none is chosen at run time.
 */
#include "base/upcall.h"

#include <pthread.h>

#include "base/self.h"
#include "boot/boot.h"
#include "io/backend/worker.h"
#include "os/kthread.h"
#include "os/output.h"
#include "os/sys.h"
#include "see/dump.h"
#include "see/frames.h"
#include "signal/cancel.h"
#include "signal/deliver.h"
#include "signal/frame.h"
#include "signal/preempt.h"
#include "signal/signal.h"
#include "signal/signal_entry.h"
#include "signal/signal_receiver.h"
#include "thread/lifecycle.h"
#include "thread/main_exit.h"
#include "thread/policy.h"
#include "wait/agent.h"
#include "wait/timer.h"
#include "wait/word.h"

static long thread_id(void)
{
	return wf_self != NULL ? wf_self->tid : wf_os_gettid();
}

static void begin_carrier(struct wf_carrier *c)
{
	wf_policy_begin_carrier(c);
	wf_preempt_arm(c);
}

static void exit_cancelled(void)
{
	pthread_exit(PTHREAD_CANCELED);
}

const struct wf_upcalls wf_upcall = {
	.thread_main = wf_thread_main,
	.frame_resume = wf_frame_resume,
	.signal_return = wf_signal_return,

	.log_write = wf_os_log_write,
	.log_thread_id = thread_id,
	.abort = wf_os_abort,
	.spin_lock_slow = wf_os_spin_lock_slow,

	.boot = wf_boot_init,
	.foreign_met = wf_foreign_met,
	.table_grows = wf_timers_make_room,
	.carrier_main = wf_agent_run,
	.carrier_begins = begin_carrier,
	.thread_bound = wf_policy_begin_bound,
	.service_made = wf_policy_above_carriers,
	.interrupt = wf_preempt_signal,
	.signals_opened = wf_signal_receiver_await_taken,
	.signal_work = wf_signal_entry_at_exit,
	.poll_words = wf_words_poll_when_due,

	.wait_is_interrupted = wf_signal_interrupts_wait,
	.wait_is_cancelled = wf_cancel_is_due,
	.idle_signal_work = wf_signal_drain_idle,

	.exit_cancelled = exit_cancelled,
	.setxid = wf_setxid_follow,
	.before_end = wf_boot_stats_print,
	.exec_suspend = wf_replacing_suspend,
	.exec_resume = wf_replacing_resume,
	.dump_run = wf_dump_run,
	.dump_alone = wf_frames_print_alone,
	.io_report = wf_supervisor_finish_marked,
};

_Static_assert(offsetof(struct wf_upcalls, thread_main) ==
		       WF_UPCALL_THREAD_MAIN,
	       "switch.S calls it by this offset");
_Static_assert(offsetof(struct wf_upcalls, frame_resume) ==
		       WF_UPCALL_FRAME_RESUME,
	       "switch.S calls it by this offset");
_Static_assert(offsetof(struct wf_upcalls, signal_return) ==
		       WF_UPCALL_SIGNAL_RETURN,
	       "signal.S calls it by this offset");
