/* SPDX-License-Identifier: MIT */
/*
 * A program traces if it imports ptrace. Each thread of such a program that
 * forks is bound before the fork. If the program forked before the runtime
 * started, the first thread is bound at the start. The first thread of a
 * debugged program is bound at the start, too, unless an option names bound
 * threads.
 */
#include "boot/tracer.h"

#include <stdbool.h>

#include "base/atomic.h"
#include "libc/elf.h"
#include "sched/runtime.h"
#include "thread/kernel_state.h"
#include "thread/scope.h"

static _Atomic bool has_forked; /* this process has made a child */

static bool is_program(void)
{
	/* does the program import ptrace? 0: not yet checked, 1: no, 2: yes */
	static _Atomic int answer;

	if (wf_load_relaxed(&answer) == 0)
		wf_store_relaxed(&answer,
				 wf_elf_program_imports("ptrace") ? 2 : 1);
	return wf_load_relaxed(&answer) == 2;
}

static bool is_multiplexed(void)
{
	return wf_self != NULL && wf_self->kind == WF_THREAD_MULTIPLEXED;
}

void wf_tracer_start(void)
{
	bool is_stepped = wf_scope_is_debugged && wf_options.bound[0] == '\0';

	if (is_stepped || (wf_load_relaxed(&has_forked) && is_program()))
		wf_kernel_state_begin(WF_BOUND_TRACER);
}

void wf_tracer_fork(void)
{
	wf_store_relaxed(&has_forked, true);
	if (is_multiplexed() && is_program())
		wf_kernel_state_begin(WF_BOUND_TRACER);
}

void wf_tracer_fork_child(void)
{
	wf_store_relaxed(&has_forked, false);
}
