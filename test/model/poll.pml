/* SPDX-License-Identifier: MIT */
/*
 * Models the poller: src/sched/idle.c, src/wait/agent.c, and offer,
 * push_stealable and steal_interactive of src/sched/pick.c. Two VPs, and a
 * foreign thread that submits to the injection queue. There is no monitor, as
 * its tick would repair the lost wakes that the model looks for.
 *
 * Some threads make another thread, which their VP shares. Then a thread ends,
 * or computes without end, so that the other VP has to run all the rest.
 * Polling ends when the poller finds work or, unless VARIANT_POLL, at any time.
 *
 * Plain stores go through a store buffer, first in first out, as on x86. A
 * locked instruction, a fence or a system call waits until the issuer's buffer
 * is empty.
 *
 * Holds: when no process can make a step any more, no thread waits in a queue,
 * or no VP is left to run it.
 */
#define NR_VPS 2
#if defined(VARIANT_SUBMITS) || defined(BUG_CHECK_BEFORE_LEAVE) || \
	defined(BUG_NO_HAND_OVER) || defined(BUG_NO_HAND_OVER_AFTER_POLL)
#define NR_SUBMITS 2
#define NR_CREATES 0
#else
#define NR_SUBMITS 1
#define NR_CREATES 2
#endif
#define SUBMITTER NR_VPS
#ifdef VARIANT_TWO_POLLERS
#define MOST_POLLERS 2
#else
#define MOST_POLLERS 1
#endif

/* Words of memory. A word of each VP is named by the first VP's. */
#define INJECT 0		/* length of the injection queue */
#define HEAD 1			/* of a VP's queue */
#define TAIL 3
#define IS_IDLE 5
#define WAKE 7			/* wake word */
#define NR_IDLE 9
#define SURPLUS 10		/* 1: work worth a wake can be stolen */
#define NR_POLLERS 11
#define INJECT_LOCK 12
#define IDLE_LOCK 13
#define NR_WORDS 14

byte mem[NR_WORDS];
chan buffer[NR_VPS + 1] = [2] of { byte, byte };

bool is_sleeping[NR_VPS];	/* in the kernel, on the wake word */
byte nr_computing;
byte nr_to_create = NR_CREATES;

#define st(word, value) buffer[me]!word, value
#define fence empty(buffer[me])
#define lock(l) atomic { fence && mem[l] == 0 -> mem[l] = 1 }
#define unlock(l) st(l, 0)
#define other (1 - me)
#define has_offers (mem[INJECT] != 0 || mem[SURPLUS] != 0)

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

inline wake_sleeper()
{
	if
	:: mem[NR_IDLE] != 0 ->
		lock(IDLE_LOCK);
		if
		:: mem[IS_IDLE + 0] != 0 -> w = 0
		:: mem[IS_IDLE + 1] != 0 -> w = 1
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

inline wake_any()
{
	if
	:: mem[NR_POLLERS] == 0 -> wake_sleeper()
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
	wake_any()
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

inline push_stealable()
{
	tail++;
	st(TAIL + me, tail);
	st(SURPLUS, 1);
#ifndef BUG_NO_FENCE_IN_SHARE
	fence;
#endif
	wake_any()
}

/* A CAS on the head of the queue. */
inline take_from(vp, its_tail)
{
	atomic {
		fence;
		if
		:: its_tail > mem[HEAD + vp] ->
			mem[HEAD + vp] = mem[HEAD + vp] + 1;
			has_thread = true
		:: else
		fi
	}
}

inline take_injected()
{
	lock(INJECT_LOCK);
	if
	:: mem[INJECT] != 0 ->
		st(INJECT, mem[INJECT] - 1);
		has_thread = true
	:: else
	fi;
	unlock(INJECT_LOCK)
}

inline steal_interactive()
{
#ifndef BUG_CLEARED_AFTER
	st(SURPLUS, 0);
	fence;
#endif
	take_from(other, mem[TAIL + other]);
#ifdef BUG_CLEARED_AFTER
	if
	:: !has_thread -> st(SURPLUS, 0)
	:: else
	fi
#else
	if
	:: has_thread && mem[TAIL + other] > mem[HEAD + other] -> st(SURPLUS, 1)
	:: else
	fi
#endif
}

inline pick()
{
	take_from(me, tail);
	if
	:: !has_thread && mem[INJECT] != 0 -> take_injected()
	:: else
	fi;
	if
	:: !has_thread && mem[SURPLUS] != 0 -> steal_interactive()
	:: else
	fi
}

/* Checks one word after the other. */
inline look()
{
	is_more = (mem[INJECT] != 0);
	if
	:: !is_more -> is_more = (mem[SURPLUS] != 0)
	:: else
	fi
}

/* A locked instruction, and so also a fence. */
inline give_up_role()
{
	atomic {
		fence;
		mem[NR_POLLERS]--
	}
}

/* wf_idle_poll_leave */
inline leave()
{
#ifdef BUG_CHECK_BEFORE_LEAVE
	look();
#endif
	if
	:: is_poller ->
		give_up_role()
	:: else
	fi;
#ifndef BUG_CHECK_BEFORE_LEAVE
	look();
#endif
#ifndef BUG_NO_HAND_OVER
	if
	:: is_more -> wake_sleeper()
	:: else
	fi;
#endif
	is_more = false
}

inline try_poll()
{
	if
	:: mem[NR_POLLERS] < MOST_POLLERS ->
		atomic {
			fence;
			if
			:: mem[NR_POLLERS] < MOST_POLLERS ->
				mem[NR_POLLERS]++;
				is_poller = true;
				has_polled = true
			:: else
			fi
		}
	:: else
	fi
}

inline idle_begin()
{
	st(WAKE + me, 0);
	lock(IDLE_LOCK);
	st(IS_IDLE + me, 1);
	st(NR_IDLE, mem[NR_IDLE] + 1);
	unlock(IDLE_LOCK);
	fence
}

/* Futex: the kernel compares and sleeps in one step. */
inline idle_sleep()
{
	atomic {
		fence;
		is_sleeping[me] = (mem[WAKE + me] == 0)
	};
end_sleeping:
	!is_sleeping[me]
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

proctype vp(byte me)
{
	byte tail, w;
	bool has_thread, is_poller, has_polled, is_more;

	do
	:: true ->
		pick();
		if
		:: has_thread && has_polled ->
			leave();
			is_poller = false;
			has_polled = false
		:: else
		fi;
		if
		:: has_thread -> goto running
		:: else
		fi;
		if
		:: !is_poller -> try_poll()
		:: else
		fi;
		if
		:: is_poller ->
end_polling:
			if
			:: has_offers -> goto next
#ifndef VARIANT_POLL
			:: true	/* the spin budget is used up */
#endif
			fi
		:: else
		fi;
#ifndef BUG_ROLE_KEPT_FOR_THE_CHECK
		if
		:: is_poller ->
			is_poller = false;
#ifdef BUG_NO_HAND_OVER_AFTER_POLL
			has_polled = false;
#endif
			give_up_role()
		:: else
		fi;
#endif
		idle_begin();
#ifndef BUG_NO_SECOND_CHECK
		look();
#endif
		if
		:: is_more -> is_more = false
		:: else ->
#ifdef BUG_ROLE_KEPT_FOR_THE_CHECK
			if
			:: is_poller ->
				is_poller = false;
				give_up_role()
			:: else
			fi;
#endif
			idle_sleep()
		fi;
		idle_end();
		goto next;
running:
		has_thread = false;
		do
		:: atomic {
			nr_to_create > 0 ->
			nr_to_create--
		   };
			push_stealable()
		:: true -> break
		od;
		if
		:: true	/* the thread ends */
		:: true ->
			nr_computing++;
			break
		fi;
next:
		skip
	od
}

active proctype checker()
{
end:
	timeout ->
	assert(nr_computing == NR_VPS ||
	       (mem[INJECT] == 0 && mem[TAIL + 0] == mem[HEAD + 0] &&
		mem[TAIL + 1] == mem[HEAD + 1]))
}

init {
	atomic {
		run store_buffer(0);
		run store_buffer(1);
		run store_buffer(2);
		run vp(0);
		run vp(1)
	}
}
