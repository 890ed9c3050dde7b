#include "signal/mask.h"

#include <errno.h>
#include <stdbool.h>

#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "sched/switch.h"

#define BIT(sig) (1ULL << ((sig)-1))

/* Never blocked: what the kernel refuses, libc's and weft's own. */
#define UNBLOCKABLE (BIT(SIGKILL) | BIT(SIGSTOP) | BIT(32) | WF_PREEMPT_BIT)

static int apply(int how, uint64_t old, uint64_t set, uint64_t *ret_mask)
{
	set &= ~UNBLOCKABLE;
	switch (how) {
	case SIG_BLOCK:
		*ret_mask = old | set;
		return 0;
	case SIG_UNBLOCK:
		*ret_mask = old & ~set;
		return 0;
	case SIG_SETMASK:
		*ret_mask = set;
		return 0;
	default:
		return -EINVAL;
	}
}

int wf_mask_change(int how, const uint64_t *set, uint64_t *ret_old)
{
	struct wf_thread *t = wf_runtime_enter();
	bool is_native = t->carrier == NULL;
	uint64_t old = is_native ? wf_os_get_signal_mask() : t->sigmask;
	uint64_t mask = old;
	int err = set != NULL ? apply(how, old, *set, &mask) : 0;

	if (err == 0 && mask != old) {
		if (is_native) {
			wf_os_set_signal_mask(mask);
		} else {
			t->sigmask = mask;
			wf_carrier_set_mask(t->carrier, mask);
		}
	}
	wf_runtime_leave(t);
	*ret_old = old & ~UNBLOCKABLE;
	return err;
}

static bool is_on(const struct wf_thread *t, uintptr_t sp)
{
	return t->altstack.size != 0 && sp >= (uintptr_t)t->altstack.sp &&
	       sp - (uintptr_t)t->altstack.sp < t->altstack.size;
}

int wf_altstack_change(const stack_t *ss, stack_t *ret_old)
{
	struct wf_thread *t = wf_thread_self();
	bool on = is_on(t, (uintptr_t)__builtin_frame_address(0));
	stack_t old = { t->altstack.sp, t->altstack.flags, t->altstack.size };

	if (t->carrier == NULL)
		return (int)wf_sys(SYS_sigaltstack, ss, ret_old);
	if (on)
		old.ss_flags |= SS_ONSTACK;
	if (ss != NULL) {
		int mode = ss->ss_flags & ~(1 << 31); /* SS_AUTODISARM */

		if (on)
			return -EPERM;
		if (mode != 0 && mode != SS_ONSTACK && mode != SS_DISABLE)
			return -EINVAL;
		if (mode != SS_DISABLE && ss->ss_size < 2048)
			return -ENOMEM;
		t->altstack.flags = mode == SS_DISABLE ? SS_DISABLE :
							 ss->ss_flags & ~1;
		t->altstack.sp = mode == SS_DISABLE ? NULL : ss->ss_sp;
		t->altstack.size = mode == SS_DISABLE ? 0 : ss->ss_size;
	}
	if (ret_old != NULL)
		*ret_old = old;
	return 0;
}
