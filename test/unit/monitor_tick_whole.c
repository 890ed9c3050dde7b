/* SPDX-License-Identifier: MIT */
/*
 * src/monitor/tick.c: its rules together, in whole machines that run for some
 * seconds of simulated time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_machine.h"
#include "monitor/preempt_request.h"

enum { TICK = MACHINE_TICK };

static uint64_t runnable_wait_most_us(uint32_t vp)
{
	return wf_load_relaxed(&machine_vp(vp)->counters.runnable_wait_most_us);
}

enum { STEP = TICK / 20, NR_MAX = 64 };

struct result {
	int64_t late_ns; /* longest wait of the sleeper */
	/* CPU time of CPU-bound threads: most divided by least */
	double ratio;
};

static void forget_waits(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		wf_store_relaxed(&machine_vp(i)->counters.runnable_wait_most_us,
				 0);
}

/*
 * The sleeper works for a step, then sleeps; every other thread computes. In
 * the first ticks weft does not know yet which thread does which.
 */
static struct result simulate(uint32_t nr_vps, int nr_cpu_bound,
			      int64_t sleep_ns)
{
	struct wf_thread *computing[NR_MAX], *sleeper;
	int64_t warm, end, wake_ns, next_tick, most = 0, least = INT64_MAX;
	struct result r = { 0, 0 };
	bool sleeps = true;

	machine_init(nr_vps);
	for (int i = 0; i < nr_cpu_bound; i++) {
		computing[i] = machine_thread();
		wf_queue_put(machine_vp(0), computing[i], WF_READY_WOKEN);
	}
	for (uint32_t i = 0; i < nr_vps; i++)
		machine_run(machine_vp(i), wf_queue_pick(machine_vp(0)));
	sleeper = machine_thread();
	warm = machine.now_ns + 200LL * TICK;
	end = machine.now_ns + 3000LL * TICK;
	wake_ns = machine.now_ns + sleep_ns;
	next_tick = machine.now_ns;
	while (machine.now_ns < end) {
		machine_pass(STEP);
		if (machine.now_ns <= warm)
			forget_waits();
		for (uint32_t i = 0; i < nr_vps; i++) {
			struct wf_vp *vp = machine_vp(i);

			if (wf_load_relaxed(&vp->cur) != sleeper)
				continue;
			if (machine.now_ns >= warm &&
			    machine.now_ns - wake_ns > r.late_ns)
				r.late_ns = machine.now_ns - wake_ns;
			sleeps = true;
			wake_ns = machine.now_ns + sleep_ns;
			machine_block(vp);
		}
		if (sleeps && machine.now_ns >= wake_ns) {
			sleeps = false;
			wf_queue_put_remote(NULL, sleeper, WF_READY_WOKEN);
			wf_tick_timer_fired(machine_vp(0), machine.now_ns);
		}
		if (machine.now_ns >= next_tick) {
			machine_tick();
			next_tick = machine.now_ns + TICK;
		}
		wf_preempt_request_retry(machine.now_ns);
		for (uint32_t i = 0; i < nr_vps; i++)
			machine_switch(machine_vp(i));
	}
	for (int i = 0; i < nr_cpu_bound; i++) {
		int64_t used = machine_used(computing[i]);

		most = used > most ? used : most;
		least = used < least ? used : least;
	}
	r.ratio = least > 0 ? (double)most / (double)least : 1e9;
	return r;
}

static void assert_fair(uint32_t nr_vps, int nr_cpu_bound, int64_t sleep_ns)
{
	struct result r = simulate(nr_vps, nr_cpu_bound, sleep_ns);

	/* The limit includes the step for which the sleeper works. */
	assert_in_range(r.late_ns, 0, 3 * STEP);
	/*
	 * The sleeper takes a seventh of one VP, so its VP's threads get less.
	 */
	assert_true(r.ratio < (nr_vps == 1 ? 1.1 : 1.3));
	for (uint32_t i = 0; i < nr_vps; i++)
		assert_in_range(runnable_wait_most_us(i), 0, 50 * 1000);
}

static void test_cpu_bound_and_a_sleeper(void **state)
{
	for (uint32_t nr_vps = 1; nr_vps <= 2; nr_vps++) {
		assert_fair(nr_vps, 6, TICK * 3 / 10);
		assert_fair(nr_vps, 6, TICK * 7 / 10);
		assert_fair(nr_vps, 6, TICK);
		assert_fair(nr_vps, 6, 5 * TICK);
	}
}

static void test_many_cpu_bound(void **state)
{
	assert_fair(1, 50, 10 * TICK);
	/* The threads wait for their turn, and the counter shows it. */
	assert_in_range(runnable_wait_most_us(0), 40 * 1000, 50 * 1000);
}

/*
 * Short runs. The interactive queues are long and short alternately, so load
 * balancing moves the CPU-bound thread between the VPs. Each VP then has a
 * batch deficit.
 */
static void test_cpu_bound_beside_short_runs(void **state)
{
	enum { NR_SHORT = 60, NR_TICKS = 1000 };
	struct wf_thread *cpu_bound;

	machine_init(2);
	for (uint32_t i = 0; i < 2; i++)
		machine_run(machine_vp(i), machine_thread());
	for (int i = 0; i < NR_SHORT; i++)
		machine_queue(machine_vp(0), machine_thread());
	cpu_bound = machine_cpu_bound();
	machine_queue(machine_vp(0), cpu_bound);
	for (int step = 0; step < NR_TICKS * TICK / STEP; step++) {
		struct wf_vp *longer = machine_vp(step * STEP / TICK % 2);

		machine_pass(STEP);
		if ((step + 1) % (TICK / STEP) == 0)
			machine_tick();
		/* The signal arrives after the next switch. */
		for (uint32_t i = 0; i < 2; i++) {
			struct wf_vp *vp = machine_vp(i);
			struct wf_thread *t = wf_load_relaxed(&vp->cur);

			if (t == cpu_bound)
				continue;
			machine_block(vp);
			wf_queue_put(longer, t, WF_READY_REACQUIRING);
		}
		for (uint32_t i = 0; i < 2; i++)
			machine_switch(machine_vp(i));
	}
	/*
	 * The thread is owed an eighth of one VP, and each move costs a tick.
	 */
	assert_in_range(machine_used(cpu_bound), (int64_t)NR_TICKS * TICK / 16,
			(int64_t)NR_TICKS * TICK);
}

/* Runs two threads that sleep again, then t until the end of the tick. */
static void tick_behind_sleepers(struct wf_vp *vp, struct wf_thread *t)
{
	machine_run(vp, machine_thread());
	machine_queue(vp, machine_thread());
	machine_queue(vp, t);
	for (int i = 0; i < 2; i++) {
		machine_pass(TICK / 100);
		machine_block(vp);
	}
	assert_ptr_equal(wf_load_relaxed(&vp->cur), t);
	machine_pass(TICK);
	machine_tick();
	machine_pass(WF_TICK_RETRY_NS);
	wf_preempt_request_retry(machine.now_ns);
}

/* TICK-4: a thread computes, although each tick has seen other threads, too. */
static void test_cpu_bound_behind_sleepers(void **state)
{
	struct wf_thread *t, *blocks;

	machine_init(1);
	t = machine_thread();
	wf_thread_set_uncooperative(t);
	tick_behind_sleepers(machine_vp(0), t);
	assert_false(wf_thread_is_cpu_bound(t));
	tick_behind_sleepers(machine_vp(0), t);
	assert_true(wf_thread_is_cpu_bound(t));
	blocks = machine_thread();
	wf_thread_set_uncooperative(blocks);
	for (int i = 0; i < 8; i++) {
		tick_behind_sleepers(machine_vp(0), blocks);
		assert_false(wf_thread_is_cpu_bound(blocks));
		wf_thread_end_stay(blocks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cpu_bound_beside_short_runs),
		cmocka_unit_test(test_cpu_bound_behind_sleepers),
		cmocka_unit_test(test_cpu_bound_and_a_sleeper),
		cmocka_unit_test(test_many_cpu_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
