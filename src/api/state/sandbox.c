/* SPDX-License-Identifier: MIT */
/*
 * If a seccomp filter refuses a system call with an error, weft uses another
 * one. If the filter kills for it, a kernel thread that the program does not
 * know ends the process. So this file interprets the filter for each system
 * call that weft makes. It switches off those parts of weft that are optional,
 * and warns about the other calls.
 *
 * Rejected: a SIGSYS handler that returns an error from the call. Kernel
 * threads that wait for work block all signals, and the kernel kills the
 * process if SIGSYS is blocked.
 */
#include "api/state/sandbox.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/atomic.h"
#include "base/machine.h"
#include "boot/boot.h"
#include "io/backend/ring.h"
#include "monitor/clock_watch.h"
#include "monitor/deaths.h"
#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/table.h"
#include "sched/yield.h"
#include "signal/memory.h"

enum { SCRATCH_WORDS = 16 };

/*
 * The state of a filter's evaluation. The kernel may not have checked the
 * filter yet, so an index into scratch is reduced to its range.
 */
struct machine {
	const struct seccomp_data *data;
	uint32_t a, x, scratch[SCRATCH_WORDS];
};

static const struct call {
	long nr;
	uint64_t arg; /* first argument */
	const char *name;
} calls[] = {
	{ SYS_io_uring_enter, 0, "io_uring_enter" },
	{ SYS_rt_sigtimedwait, 0, "rt_sigtimedwait" },
	{ SYS_preadv2, 0, "preadv2" },
	{ SYS_pwritev2, 0, "pwritev2" },
	{ SYS_membarrier, 0, "membarrier" },
	{ SYS_openat, 0, "openat" },
	{ SYS_tgkill, 0, "tgkill" },
	{ SYS_prctl, PR_SET_TIMERSLACK, "prctl" },
};

/*
 * The process id, from before the first filter, which may forbid getpid. It is
 * not known in fork children, which have another epoch.
 */
static int own_pid;
static uint32_t own_pid_epoch;
static bool is_confined;

static uint32_t source(const struct machine *m, const struct sock_filter *s)
{
	return BPF_SRC(s->code) == BPF_X ? m->x : s->k;
}

static bool load(const struct machine *m, const struct sock_filter *s,
		 uint32_t *ret_value)
{
	switch (BPF_MODE(s->code)) {
	case BPF_ABS:
		if (s->k > sizeof(*m->data) - sizeof(*ret_value))
			return false;
		memcpy(ret_value, (const char *)m->data + s->k,
		       sizeof(*ret_value));
		return true;
	case BPF_MEM:
		*ret_value = m->scratch[s->k % SCRATCH_WORDS];
		return true;
	case BPF_IMM:
		*ret_value = s->k;
		return true;
	case BPF_LEN:
		*ret_value = sizeof(*m->data);
		return true;
	default:
		return false;
	}
}

static bool compute(struct machine *m, const struct sock_filter *s)
{
	uint32_t by = source(m, s);

	switch (BPF_OP(s->code)) {
	case BPF_ADD:
		m->a += by;
		return true;
	case BPF_SUB:
		m->a -= by;
		return true;
	case BPF_AND:
		m->a &= by;
		return true;
	case BPF_OR:
		m->a |= by;
		return true;
	case BPF_XOR:
		m->a ^= by;
		return true;
	case BPF_LSH:
		m->a = by < 32 ? m->a << by : 0;
		return true;
	case BPF_RSH:
		m->a = by < 32 ? m->a >> by : 0;
		return true;
	default:
		return false;
	}
}

/* *ret_skip is the number of instructions to skip. */
static bool jump(const struct machine *m, const struct sock_filter *s,
		 uint32_t *ret_skip)
{
	uint32_t with = source(m, s);
	bool is_true;

	switch (BPF_OP(s->code)) {
	case BPF_JA:
		*ret_skip = s->k;
		return true;
	case BPF_JEQ:
		is_true = m->a == with;
		break;
	case BPF_JGT:
		is_true = m->a > with;
		break;
	case BPF_JGE:
		is_true = m->a >= with;
		break;
	case BPF_JSET:
		is_true = (m->a & with) != 0;
		break;
	default:
		return false;
	}
	*ret_skip = is_true ? s->jt : s->jf;
	return true;
}

/* Carries out an instruction that neither returns nor jumps. */
static bool step(struct machine *m, const struct sock_filter *s)
{
	switch (BPF_CLASS(s->code)) {
	case BPF_LD:
		return load(m, s, &m->a);
	case BPF_LDX:
		return load(m, s, &m->x);
	case BPF_ST:
		m->scratch[s->k % SCRATCH_WORDS] = m->a;
		return true;
	case BPF_STX:
		m->scratch[s->k % SCRATCH_WORDS] = m->x;
		return true;
	case BPF_ALU:
		return compute(m, s);
	case BPF_MISC:
		if (BPF_MISCOP(s->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		return true;
	default:
		return false;
	}
}

/* The filter's result; SECCOMP_RET_ALLOW for an unknown instruction. */
static uint32_t answer(const struct sock_fprog *filter,
		       const struct seccomp_data *data)
{
	struct machine m = { .data = data };
	uint32_t skip;

	for (uint32_t i = 0; i < filter->len; i++) {
		const struct sock_filter *s = &filter->filter[i];

		if (BPF_CLASS(s->code) == BPF_RET)
			return BPF_RVAL(s->code) == BPF_A ? m.a : s->k;
		if (BPF_CLASS(s->code) != BPF_JMP) {
			if (!step(&m, s))
				break;
			continue;
		}
		if (!jump(&m, s, &skip))
			break;
		i += skip;
	}
	return SECCOMP_RET_ALLOW;
}

/*
 * Returns the filter's action for system call nr with the first argument `arg`.
 * Some filters allow tgkill only for the process itself, and prctl only for
 * some options.
 */
static uint32_t action(const struct sock_fprog *filter, long nr, uint64_t arg)
{
	struct seccomp_data data = { .nr = (int)nr,
				     .arch = WF_AUDIT_ARCH,
				     .args = { arg } };

	if (nr == SYS_tgkill && own_pid_epoch != wf_table_fork_epoch())
		return SECCOMP_RET_ALLOW;
	if (nr == SYS_tgkill)
		data.args[0] = (uint64_t)own_pid;
	return answer(filter, &data) & SECCOMP_RET_ACTION_FULL;
}

static bool kills(const struct sock_fprog *filter, long nr, uint64_t arg)
{
	switch (action(filter, nr, arg)) {
	case SECCOMP_RET_KILL_PROCESS:
	case SECCOMP_RET_KILL_THREAD:
	case SECCOMP_RET_TRAP:
		return true;
	default:
		return false;
	}
}

/*
 * Cancels the requests in the rings, while the kernel still accepts the call
 * for that. A thread that has just found a ring may push its request later. So
 * the rings have to be empty 3 times in a row, with 1 ms in between. Gives up
 * after 1000 rounds.
 */
static void leave_rings(void)
{
	enum { NR_QUIET = 3, MOST_POLLS = 1000 };
	const struct timespec pause = { 0, WF_NS_PER_MS };
	int nr_quiet = 0;

	for (int i = 0; i < MOST_POLLS && nr_quiet < NR_QUIET; i++) {
		nr_quiet = wf_ring_give_up() ? 0 : nr_quiet + 1;
		if (!wf_is_started())
			break;
		wf_sched_yield();
		wf_sys(SYS_nanosleep, &pause, NULL);
	}
}

static bool refuses_rings(const struct sock_fprog *program)
{
	struct sock_fprog filter;
	struct sock_filter last;

	return wf_memory_get(&filter, program, sizeof(filter)) == 0 &&
	       filter.len > 0 && filter.filter != NULL &&
	       wf_memory_get(&last, &filter.filter[filter.len - 1],
			     sizeof(last)) == 0 &&
	       (action(&filter, SYS_io_uring_enter, 0) == SECCOMP_RET_ERRNO ||
		action(&filter, SYS_io_uring_register, 0) == SECCOMP_RET_ERRNO);
}

bool wf_sandbox_comes(const struct sock_fprog *filter)
{
	if (!is_confined) {
		own_pid = wf_os_getpid();
		own_pid_epoch = wf_table_fork_epoch();
	}
	if (wf_ring_is_refused() || !refuses_rings(filter))
		return false;
	leave_rings();
	return true;
}

void wf_sandbox_is_refused(void)
{
	wf_ring_keep_on();
}

void wf_sandbox_check(const struct sock_fprog *filter)
{
	is_confined = true;
	if (kills(filter, SYS_timerfd_create, 0) ||
	    kills(filter, SYS_timerfd_settime, 0))
		wf_clock_watch_forbid();
	if (kills(filter, SYS_prctl, PR_SET_NAME))
		wf_os_forbid_thread_names();
	if (kills(filter, SYS_set_tid_address, 0))
		wf_deaths_forbid();
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (kills(filter, calls[i].nr, calls[i].arg)) {
			wf_boot_killed_for(calls[i].name);
			return;
		}
	}
}
