/* SPDX-License-Identifier: MIT */
/*
 * Models which VP sleeps and which thread wakes it: src/sched/idle.c, queue.c
 * (offer, see_monitor), src/wait/agent.c and the sleep of
 * src/monitor/monitor.c. One VP, a foreign thread that submits to the injection
 * queue, the monitor. The variant has two VPs with threads that do not compute,
 * and no monitor.
 *
 * Plain stores go through a store buffer, first in first out, as on x86. A
 * locked instruction, a fence or a system call waits until the issuer's buffer
 * is empty, a membarrier until each buffer was empty once.
 *
 * A thread either ends at once or computes until it is preempted, and may then
 * make another thread. VP 0 has a timer.
 *
 * Holds: when no process can make a step any more, no entry waits and no timer
 * is left. There is never work while all VPs sleep, or while the monitor sleeps
 * and the VPs compute.
 */
#ifdef VARIANT_TWO_VPS
#define NR_VPS 2
#else
#define NR_VPS 1
#endif
#define NR_SUBMITS 2
#define SUBMITTER NR_VPS

/* Words of memory. A word of each VP is named by the first VP's. */
#define INJECT 0		/* length of the injection queue */
#define QUEUE 1			/* length of a VP's queue */
#define IS_IDLE 3
#define WAKE 5			/* wake word */
#define CUR 7
#define NR_IDLE 9
#define ASLEEP 10		/* the monitor sleeps */
#define INJECT_LOCK 11
#define IDLE_LOCK 12
#define NR_WORDS 13

byte mem[NR_WORDS];
chan buffer[NR_VPS + 1] = [2] of { byte, byte };

bool is_sleeping[NR_VPS];	/* in the kernel, on the wake word */
bool is_monitor_sleeping;
bool resched[NR_VPS];		/* preempt the computing thread */
bool has_timer = (NR_VPS == 1);	/* VP 0 */
bool may_create = (NR_VPS == 1);

#define st(word, value) buffer[me]!word, value
#define fence empty(buffer[me])
#define lock(l) atomic { fence && mem[l] == 0 -> mem[l] = 1 }
#define unlock(l) st(l, 0)

proctype store_buffer(byte me)
{
	byte word, value;

end_empty:
	do
	:: atomic {
		buffer[me]?word, value ->
		mem[word] = value;
		word = 0;
		value = 0
	   }
	od
}

/* --- waking ------------------------------------------------------------- */

/*
 * Runs after each push. It needs no fence, thanks to the monitor's membarrier.
 */
inline see_monitor()
{
	if
	:: mem[ASLEEP] != 0 ->
		atomic {
			fence;
			mem[ASLEEP] = 0;
			is_monitor_sleeping = false
		}
	:: else
	fi
}

inline wake_any()
{
	if
	:: mem[NR_IDLE] != 0 ->
		lock(IDLE_LOCK);
		if
		:: mem[IS_IDLE + 0] != 0 -> w = 0
#ifdef VARIANT_TWO_VPS
		:: mem[IS_IDLE + 1] != 0 -> w = 1
#endif
		:: mem[NR_IDLE] == 0 -> w = NR_VPS
		fi;
		if
		:: w < NR_VPS ->
			st(IS_IDLE + w, 0);
			st(NR_IDLE, mem[NR_IDLE] - 1);
			unlock(IDLE_LOCK);
			st(WAKE + w, 1);
			atomic {
				fence;	/* futex wake */
				is_sleeping[w] = false
			}
		:: else -> unlock(IDLE_LOCK)
		fi;
		w = 0
	:: else
	fi
}

/* wf_queue_put_remote */
inline submit()
{
	lock(INJECT_LOCK);
	st(INJECT, mem[INJECT] + 1);
	unlock(INJECT_LOCK);
#ifndef BUG_NO_FENCE_IN_SUBMIT
	fence;
#endif
	wake_any();
	see_monitor()
}

active proctype submitter()
{
	byte me = SUBMITTER, w, i;

	do
	:: i < NR_SUBMITS ->
		submit();
		i++
	:: else -> break
	od
}

/* --- a VP --------------------------------------------------------------- */

inline push_own()
{
	queue++;
	st(QUEUE + me, queue)
}

/* Takes the injected entries: one to run, the rest into the run queue. */
inline take_injected()
{
	lock(INJECT_LOCK);
	n = mem[INJECT];
	st(INJECT, 0);
	unlock(INJECT_LOCK);
	do
	:: n > 1 ->
		push_own();
#ifndef BUG_SILENT_MOVE
		/* the monitor may have checked both queues in between */
		see_monitor();
#endif
		n--
	:: else -> break
	od
}

inline compute()
{
	do
	:: may_create ->
		atomic {
			if
			:: may_create ->
				may_create = false;
				n = 1
			:: else
			fi
		};
		if
		:: n == 1 ->
			push_own();
			see_monitor()
		:: else
		fi;
		n = 0
	:: true -> break
	od;
end_computing:
	atomic {
		resched[me] ->
		resched[me] = false
	}
}

inline idle_begin()
{
	st(WAKE + me, 0);
	lock(IDLE_LOCK);
	st(IS_IDLE + me, 1);
	st(NR_IDLE, mem[NR_IDLE] + 1);
	unlock(IDLE_LOCK);
#ifndef BUG_NO_FENCE_IN_IDLE
	fence
#endif
}

/* Futex: the kernel compares and sleeps in one step. */
inline idle_sleep()
{
	atomic {
		fence;
		is_sleeping[me] = (mem[WAKE + me] == 0)
	};
end_sleeping:
	if
	:: !is_sleeping[me]
	:: me == 0 && has_timer -> is_sleeping[me] = false
	fi
}

inline idle_end()
{
	lock(IDLE_LOCK);
	if
	:: mem[IS_IDLE + me] != 0 ->
		st(IS_IDLE + me, 0);
		st(NR_IDLE, mem[NR_IDLE] - 1)
	:: else
	fi;
	unlock(IDLE_LOCK)
}

/* Fires VP 0's timer if it is due. */
inline fire()
{
	if
	:: me == 0 && has_timer ->
		atomic {
			if
			:: has_timer ->
				has_timer = false;
				n = 1
			:: true
			fi
		};
		if
		:: n == 1 -> push_own()
		:: else
		fi;
		n = 0
	:: else
	fi
}

/* wf_switch_from_carrier: the VP's own context switches to a thread. */
inline begin_running()
{
#ifdef BUG_SEEN_BEFORE_RUNNING
	see_monitor();
	st(CUR + me, 1);
#else
	st(CUR + me, 1);
#ifndef BUG_SILENT_RUN
	see_monitor();	/* from now on the monitor keeps time for the VP */
#endif
#endif
	is_running = true
}

proctype vp(byte me)
{
	byte queue, n;
	bool is_running;

	do
	:: true ->
		if
		:: !is_running -> fire()
		:: else
		fi;
		if
		:: queue > 0 ->
			atomic {
				fence;	/* CAS on the queue's head */
				queue--;
				mem[QUEUE + me] = queue
			}
		:: queue == 0 && mem[INJECT] != 0 ->
			take_injected();
			if
			:: n == 0 -> goto idle	/* another VP was first */
			:: else -> n = 0
			fi
		:: queue == 0 && mem[INJECT] == 0 -> goto idle
		fi;
		if
		:: !is_running -> begin_running()
		:: else
		fi;
		if
		:: NR_VPS == 1 -> compute()
		:: true
		fi;
		goto next;
idle:
		if
		:: is_running ->
			st(CUR + me, 0);
			is_running = false;
			goto next
		:: else
		fi;
		idle_begin();
		if
#ifndef BUG_NO_SECOND_CHECK
		:: mem[INJECT] != 0
#endif
		:: else -> idle_sleep()
		fi;
		idle_end();
next:
		skip
	od
}

/* --- the monitor: of the one VP ----------------------------------------- */

/* Checks one word after the other; a VP that runs no thread needs no check. */
inline look_if_needed()
{
	is_needed = false;
	if
	:: mem[CUR] != 0 ->
		if
		:: mem[QUEUE] != 0 || has_timer -> is_needed = true
		:: else ->
			if
			:: mem[INJECT] != 0 -> is_needed = true
			:: else
			fi
		fi
	:: else
	fi
}

inline tick()
{
	if
	:: mem[CUR] != 0 ->
		resched[0] = true;
		has_timer = false	/* fires, and submits a thread */
	:: else
	fi
}

inline membarrier()
{
#ifndef BUG_NO_MEMBARRIER
	empty(buffer[0]);
	empty(buffer[1]);
#endif
	skip
}

proctype monitor()
{
	bool is_needed;

	do
	:: true ->
		look_if_needed();
		if
		:: is_needed ->
			tick();
			goto next
		:: else
		fi;
		mem[ASLEEP] = 1;
		membarrier();
#ifndef BUG_NO_SECOND_CHECK_OF_MONITOR
		look_if_needed();
#endif
		if
		:: !is_needed ->	/* futex */
			is_monitor_sleeping = (mem[ASLEEP] == 1);
end_sleeping:
			!is_monitor_sleeping
		:: else
		fi;
		mem[ASLEEP] = 0;
next:
		skip
	od
}

active proctype checker()
{
end:
	timeout ->
	assert(mem[INJECT] == 0 && mem[QUEUE + 0] == 0 && mem[QUEUE + 1] == 0);
	assert(!has_timer)
}

init {
	atomic {
		run store_buffer(0);
		run store_buffer(1);
		run vp(0);
#ifdef VARIANT_TWO_VPS
		run store_buffer(2);
		run vp(1);
#else
		run monitor();
#endif
	}
}
