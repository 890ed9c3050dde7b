/* SPDX-License-Identifier: MIT */
/*
 * Prints the stacks of all threads for --dump-on, where no other process may
 * read this one.
 *
 * A thread of the program may be stuck in malloc, in the loader or with any
 * other lock, and the dump is to show it. So the service calls the kernel only.
 * Its raw fork child has the memory as it was, and serves it to `weft stacks -`
 * (see/dump_server.c). Without the child or the command, the service prints
 * what frame pointers lead to (see/frames.c).
 *
 * DUMP-1. The service has a private descriptor table without files, so the
 *     program's numbers and files stay as they are, in the child too.
 * DUMP-2. The child sends no signal when it ends, and only __WCLONE waits for
 *     it. So no wait of the program's finds it.
 * DUMP-3. Threads that run stand still until the child has been made, and no
 *     longer: the dump's reader may be the program itself.
 *
 * Rejected: a child of the monitor. The monitor would have to look for the
 * child's end in each round, and a dump of a large program stops its rounds.
 */
#include "see/dump.h"

#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/log.h"
#include "os/kthread.h"
#include "os/output.h"
#include "os/sys.h"
#include "sched/service.h"
#include "see/frames.h"
#include "signal/dump_signal.h"
#include "trace/counters.h"

/* DUMP-2. Returns 0, a number of enum wf_dump_failure, or -Exxx. */
static int print_by_command(int out)
{
	uint32_t nr_paused;
	int status = 0;
	long pid, n;

	if (wf_dump_command[0] == '\0')
		return WF_DUMP_NO_COMMAND;
	nr_paused = wf_dump_pause_begin();
	pid = wf_sys(SYS_clone, 0);
	if (pid == 0)
		wf_dump_serve(out, nr_paused);
	wf_dump_pause_end(); /* DUMP-3 */
	if (pid < 0)
		return (int)pid;
	do
		n = wf_sys(SYS_wait4, pid, &status, __WCLONE, NULL);
	while (n == -EINTR);
	return n == pid && WIFEXITED(status) ? WEXITSTATUS(status) :
					       WF_DUMP_NO_ANSWER;
}

static const char *reason_of(int failure)
{
	switch (failure) {
	case WF_DUMP_NO_COMMAND:
		return "the command 'weft' cannot be executed";
	case WF_DUMP_NO_SOCKET:
		return "the kernel makes no socket";
	case WF_DUMP_NO_ANSWER:
		return "'weft stacks' has failed";
	case WF_DUMP_NO_END:
		return "'weft stacks' does not end";
	default:
		return "the kernel makes no process";
	}
}

static void print(void)
{
	const char *name = wf_dump_signal_name();
	int out = wf_os_stderr_copy();
	int failure;

	if (out < 0)
		return;
	wf_log("%s: the stacks of process %d", name, wf_os_getpid());
	failure = print_by_command(out);
	if (failure != 0) {
		wf_log("%s (%d): frames by frame pointers, which may be wrong",
		       reason_of(failure), failure);
		wf_count(dumps_guessed);
		wf_frames_print_all(out);
	}
	wf_log("%s: end of the stacks", name);
	wf_count(dumps);
	wf_sys(SYS_close, out);
}

void wf_dump_run(void *arg)
{
	wf_os_set_thread_name("weft-dump");
	wf_os_set_signal_mask(UINT64_MAX);
	/* DUMP-1. Before Linux 5.9 the table stays the program's. */
	wf_sys(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE);
	while (wf_dump_signal_await()) {
		print();
		wf_dump_signal_done();
	}
	wf_service_end();
}
