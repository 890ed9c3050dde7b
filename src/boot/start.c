/* SPDX-License-Identifier: MIT */
/*
 * Starts the runtime at the first pthread_create, and again after a fork or a
 * wind-down. make_world fills tables. Then the kernel threads begin: monitor,
 * signal receiver, carriers. The process's first thread, so far a kernel thread
 * like any other, becomes a thread on VP 0. All signals are blocked until that
 * is done.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/options.h"
#include "boot/boot.h"
#include "boot/tracer.h"
#include "io/backend/ring.h"
#include "io/file/private_fd.h"
#include "libc/elf.h"
#include "libc/layout.h"
#include "libc/loader.h"
#include "libc/rseq.h"
#include "libc/tcb.h"
#include "libc/text.h"
#include "monitor/deaths.h"
#include "monitor/monitor.h"
#include "monitor/private_table.h"
#include "os/clock.h"
#include "os/cpus.h"
#include "os/fallback.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/cpu_time.h"
#include "sched/idle.h"
#include "sched/offline.h"
#include "sched/registers.h"
#include "sched/runtime.h"
#include "sched/service.h"
#include "sched/switch.h"
#include "sched/table.h"
#include "signal/signal_entry.h"
#include "signal/deliver.h"
#include "signal/mask.h"
#include "signal/preempt.h"
#include "signal/signal.h"
#include "sync/inherit.h"
#include "sync/mutex.h"
#include "thread/affinity.h"
#include "thread/cpu_timer.h"
#include "thread/kernel_state.h"
#include "thread/scope.h"
#include "wait/agent.h"
#include "wait/biased.h"
#include "wait/timer.h"
#include "wait/ufutex_bucket.h"
#include "wait/word.h"
#include "thread/policy.h"

static struct wf_spin start_lock = WF_SPIN_INIT;
/*
 * The system call for which the program's seccomp filter kills the thread; NULL
 * if there is none.
 */
static const char *_Atomic killed_for;

/*
 * Returns the number of VPs: the CPUs that the process may use, or the CPU
 * quota if that is less, or the option. Stores whether each VP has a CPU.
 */
static uint32_t count_vps(bool *ret_has_cpu_for_each)
{
	uint32_t cpus = wf_os_cpus_allowed(0);
	uint32_t quota = wf_os_cpus_quota("");
	uint32_t nr = cpus;

	if (quota != 0 && quota < nr)
		nr = quota;
	if (wf_options.vps != 0)
		nr = (uint32_t)wf_options.vps;
	/* Under a CPU quota VPs must not poll: that uses up the quota, and the
	 * control group gets throttled. */
	*ret_has_cpu_for_each = quota == 0 && nr <= cpus;
	return nr < WF_VPS_MAX ? nr : WF_VPS_MAX;
}

/*
 * Links two anchor TCBs into ld.so's list: two blocks that no thread ever uses
 * (libc/tcb.h). Done once in each fork generation, also if the start fails and
 * the program tries again.
 */
static int make_anchors(void)
{
	static char *block;
	static uint32_t epoch;
	/* ld.so also writes the static TLS of new modules below the anchors. */
	size_t tls = wf_align_up(wf_libc.static_tls_bytes, WF_CACHE_LINE);
	size_t each = wf_align_up(tls + wf_libc.pthread_bytes, WF_PAGE);
	uintptr_t first;

	if (epoch == wf_table_fork_epoch())
		return 0;
	if (block == NULL)
		block = wf_os_reserve(2 * each);
	if (block == NULL)
		return -ENOMEM;
	first = (uintptr_t)block + tls;
	wf_tcb_anchor(first, first + each);
	epoch = wf_table_fork_epoch();
	return 0;
}

static int make_world(void)
{
	bool has_cpu_for_each;
	uint32_t nr = count_vps(&has_cpu_for_each);
	int err;

	wf_rseq_unregister(); /* or else libc's first area stays as it is */
	wf_affinity_init();
	wf_loader_find_lock();
	err = wf_tcb_template_take();
	if (err < 0)
		return err;
	err = make_anchors();
	if (err == 0)
		err = wf_vps_init(nr);
	if (err == 0)
		err = wf_timers_init();
	if (err < 0)
		return err;
	wf_text_init();
	if (wf_text_is_on_stacks())
		wf_store_relaxed(&wf_slots_have_code, true);
	if (wf_sched.nr_vps == 1)
		/* with one VP the owner does not run meanwhile */
		wf_mutex_spins = 0;
	wf_idle_reset();
	wf_agent_init(has_cpu_for_each);
	wf_bucket_table_choose();
	wf_switch_needs_syscall =
		(getauxval(AT_HWCAP2) & WF_ARCH_HWCAP2_FSGSBASE) == 0;
	wf_registers_init(!wf_switch_needs_syscall);
	wf_arch_keeps_fs = !wf_switch_needs_syscall;
	wf_arch_landings[WF_ARCH_LANDING_SIGNAL] = wf_signal_entry;
	if (wf_os_membarrier_register() < 0)
		wf_fallback_note(WF_FALLBACK_MEMBARRIER);
	wf_biased_init(wf_sched.nr_vps);
	wf_ring_start();
	wf_preempt_init();
	return 0;
}

/* Makes the process's first thread a thread like all others, on VP 0. */
static int adopt_first(struct wf_thread *t, uint64_t mask)
{
	struct wf_vp *vp = &wf_sched.vps[0];
	struct wf_carrier *c;

	/* In a fork child the thread may have a slot. */
	if (t->slot.class == NULL && t->slot.low == NULL) {
		size_t bytes = wf_slot_save_bytes();
		char *save = wf_os_reserve(bytes);

		if (save == NULL)
			return -ENOMEM;
		t->slot.low = save + bytes;
	}
	wf_signal_save_altstack(t);
	wf_policy_adopt(t);
	wf_sys(SYS_prctl, PR_GET_NAME, t->name);
	c = wf_carrier_adopt(vp);
	if (c == NULL)
		return -ENOMEM;
	wf_deaths_watch_first();
	c->kernel_mask = UINT64_MAX;
	t->sigmask = mask;
	t->carrier = c;
	t->vp = vp;
	wf_store_relaxed(&t->in_runtime, 1);
	wf_store_release(&vp->cur, t);
	t->kind = WF_THREAD_MULTIPLEXED;
	return 0;
}

/*
 * Makes the carriers. Fewer VPs than planned and no spare will do; without VP 0
 * there is no runtime.
 */
static int make_carriers(struct wf_thread *t, uint64_t mask)
{
	int err;

	if (t->is_first)
		err = adopt_first(t, mask);
	else
		err = wf_carrier_spawn(&wf_sched.vps[0]);
	if (err < 0)
		return err;
	for (uint32_t i = 1; i < wf_sched.nr_vps; i++) {
		if (wf_carrier_spawn(&wf_sched.vps[i]) < 0)
			wf_sched.nr_vps = i;
	}
	wf_carrier_ensure_spare();
	return 0;
}

/*
 * Ends the process under valgrind. valgrind's frames for signal handlers cannot
 * be moved to another stack, and it runs one thread at a time anyway.
 */
static void refuse_valgrind(void)
{
	if (wf_elf_symbol("vgpreload_core", "_vgnU_freeres") == NULL)
		return;
	wf_log("valgrind cannot follow threads on weft; run the program under "
	       "valgrind without weft");
	for (;;)
		wf_sys(SYS_exit_group, 125);
}

/*
 * Blocks all signals: the first system call of the start. If the kernel refuses
 * it, nothing has begun.
 */
static int block_signals(void)
{
	const uint64_t all = UINT64_MAX;

	return (int)wf_sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
}

static int start_services(void)
{
	int err;

	wf_policy_learn();
	err = wf_monitor_start();
	return err == 0 ? wf_signal_start() : err;
}

static int start_locked(struct wf_thread *t)
{
	uint64_t mask = wf_mask_of_first(t);
	int err;

	refuse_valgrind();
	wf_scope_start();
	err = make_world();
	if (err < 0)
		return err;
	err = block_signals();
	if (err < 0)
		return err;
	wf_private_fd_prepare();
	/* The services start first: their start may fail, and they have no VPs
	 * to check yet. */
	err = start_services();
	if (err == 0)
		err = make_carriers(t, mask);
	if (err < 0) {
		wf_os_set_signal_mask(mask);
		return err;
	}
	wf_signal_convert(mask);
	wf_boot_stats_begin();
	if (t->is_first) {
		wf_signal_adopt_pending(t);
		wf_cpu_time_adopt(t);
		wf_cpu_timer_adopt(t);
		wf_kernel_state_adopt(t);
		if (t->rt_priority != 0)
			wf_offline_begin();
	}
	wf_store_release(&wf_sched.is_started, true);
	if (t->is_first) {
		wf_carrier_set_mask(t->carrier, mask);
		wf_inherit_start(t);
		wf_runtime_leave(t);
		wf_tracer_start();
	} else {
		wf_os_set_signal_mask(mask);
	}
	return 0;
}

void wf_boot_killed_for(const char *call)
{
	const char *none = NULL;

	if (wf_cas_acq_rel(&killed_for, &none, call) && wf_is_started())
		wf_log("the program's seccomp filter kills for %s, which weft "
		       "calls: run it without weft or, if another program "
		       "starts it, that one with --no-children",
		       call);
}

bool wf_boot_stays_native(void)
{
	static _Atomic bool is_said;
	const char *call = wf_load_relaxed(&killed_for);

	/* Also in a vfork child, which shares its parent's runtime: that is
	 * started. */
	if (call == NULL || wf_load_relaxed(&wf_sched.is_started))
		return false;
	if (!atomic_exchange(&is_said, true)) {
		wf_log("the program's seccomp filter kills for %s, which weft "
		       "calls: its threads are native ones",
		       call);
	}
	return true;
}

void wf_start_fork_child(void)
{
	start_lock = WF_SPIN_INIT;
}

static const char *reason_of(int err)
{
	switch (err) {
	case -EAGAIN:
		return "no kernel thread can be made; raise the limit on "
		       "processes (ulimit -u, TasksMax=)";
	case -ENOMEM:
		return "there is no memory for its tables; raise the limit on "
		       "address space (ulimit -v)";
	case -EPERM:
		return "the kernel refuses a system call (Operation not "
		       "permitted); does a seccomp filter?";
	case -ENOSYS:
		return "the kernel refuses a system call (Function not "
		       "implemented); does a seccomp filter?";
	default:
		return "the kernel refuses a system call; does a seccomp "
		       "filter?";
	}
}

/* Prints the reason of a failed start once, since programs try again. */
static void complain_once(int err)
{
	static _Atomic bool is_said;

	if (!atomic_exchange(&is_said, true))
		wf_log("cannot start: %s (error %d)", reason_of(err), -err);
}

int wf_boot_start(void)
{
	struct wf_thread *t = wf_thread_self();
	int err = 0;

	if (wf_is_vfork_child())
		return -EAGAIN;
	if (wf_is_started())
		return 0;
	if (wf_boot_stays_native())
		return -EAGAIN;
	wf_spin_lock(&start_lock, WF_RANK_START);
	if (!wf_is_started())
		err = start_locked(t);
	wf_spin_unlock(&start_lock);
	if (err == 0) {
		wf_private_table_wait(100 * WF_NS_PER_MS);
		wf_boot_stats_register();
	}
	/* pthread_create fails like this natively after
	 * unshare(CLONE_NEWPID). */
	if (err == -EINVAL)
		return err;
	if (err < 0)
		complain_once(err);
	return err < 0 ? -EAGAIN : 0;
}
