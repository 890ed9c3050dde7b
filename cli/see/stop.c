/* SPDX-License-Identifier: MIT */
#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

static bool read_registers(struct wf_see_stopped *s)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, s->tid, NULL, &r) != 0)
		return false;
	s->thread_register = r.fs_base;
	s->cpu = (struct wf_see_cpu){
		.value = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp,
			   r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14,
			   r.r15, r.rip },
		.known = (1U << WF_SEE_DWARF_REGISTERS) - 1,
	};
	return true;
}

bool wf_see_stop(int tid, struct wf_see_stopped *ret_stopped)
{
	struct wf_see_stopped *s = ret_stopped;
	int status;

	*s = (struct wf_see_stopped){ .tid = tid };
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		return false;
	while (waitpid(tid, &status, __WALL) < 0)
		if (errno != EINTR)
			return false;
	if (!WIFSTOPPED(status))
		return false; /* it has ended, which detaches it */
	/* A stop for a signal: the thread gets the signal when it goes on. */
	if (status >> 16 == 0)
		s->signal = WSTOPSIG(status);
	if (read_registers(s))
		return true;
	wf_see_go_on(s);
	return false;
}

void wf_see_go_on(const struct wf_see_stopped *stopped)
{
	ptrace(PTRACE_DETACH, stopped->tid, NULL, (long)stopped->signal);
}
