/* SPDX-License-Identifier: MIT */
/*
 * Models how the monitor checks words that no doorbell announces: the sleep of
 * src/monitor/monitor.c (MONITOR-3, MONITOR-5) and the begin of a wait in
 * src/wait/word.c (check_watch, WORD-4). Each of two threads waits once, and
 * its wait may end. A third makes work for the monitor
 * (src/sched/queue_internal.h, see_monitor). A short pause of the monitor ends
 * by itself, a long pause and a sleep without a deadline only by a wake.
 *
 * Plain stores go through a store buffer, first in first out, as on x86. A
 * locked instruction or a system call waits until the issuer's buffer is empty,
 * a membarrier until each buffer was empty once.
 *
 * Holds: the monitor does not sleep while there is work. When it sleeps at
 * last, no thread waits, or the monitor has counted all waits before it chose a
 * long pause.
 */
#define NR_WAITERS 2
#define PUSHER NR_WAITERS

#define AWAKE 0
#define IS_ASLEEP 1
#define IS_WATCHING 2

/* Words of memory. A word of each waiter is named by the first waiter's. */
#define NOTED 0
#define COUNT 2 /* number of waits that have begun */
#define WORK 4
#define ASLEEP 5
#define NR_WORDS 6

byte mem[NR_WORDS];
chan buffer[NR_WAITERS + 1] = [2] of { byte, byte };

bool is_sleeping; /* the monitor sleeps until it is woken */
byte known;	  /* calm.nr_waits */
bool has_pushed;

#define st(word, value) buffer[me]!word, value
#define fence empty(buffer[me])
#define nr_waits (mem[COUNT] + mem[COUNT + 1])
#define is_any_noted (mem[NOTED] != 0 || mem[NOTED + 1] != 0)

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

inline wake()
{
	atomic {
		fence;
		mem[ASLEEP] = AWAKE;
		is_sleeping = false
	}
}

proctype waiter(byte me)
{
	st(NOTED + me, 1);
	st(COUNT + me, 1);
	if
	:: mem[ASLEEP] == IS_ASLEEP -> wake()
	:: else
	fi;
	if
	:: true -> st(NOTED + me, 0) /* the word has changed */
	:: true
	fi
}

proctype pusher(byte me)
{
	st(WORK, 1);
	if
#ifdef BUG_WATCHER_IS_LEFT
	:: mem[ASLEEP] == IS_ASLEEP -> wake()
#else
	:: mem[ASLEEP] != AWAKE -> wake()
#endif
	:: else
	fi;
	has_pushed = true
}

/* --- the monitor --------------------------------------------------------- */

inline membarrier()
{
#ifndef BUG_NO_MEMBARRIER
	empty(buffer[0]);
	empty(buffer[1]);
	empty(buffer[PUSHER]);
#endif
	skip
}

/* wf_os_futex_wait */
inline begin_sleep(value)
{
	atomic {
		is_sleeping = (mem[ASLEEP] == value);
		assert(!is_sleeping || !has_pushed || !mem[WORK])
	}
}

inline sleep()
{
	begin_sleep(IS_ASLEEP);
end_sleeping:
	!is_sleeping
}

/* watch_pause: short after the begin of a wait, longer later. */
inline choose_pause()
{
	seen = nr_waits;
	if
	:: seen != known ->
		known = seen;
		is_long = false
	:: else ->
		if
		:: is_long = true
		:: is_long = false
		fi
	fi
}

inline announce_watch()
{
	if
	:: !is_long && mem[ASLEEP] != IS_WATCHING ->
#ifdef BUG_WATCHES_THOUGH_WOKEN
		mem[ASLEEP] = IS_WATCHING
#else
		atomic {
			is_over = mem[ASLEEP] != IS_ASLEEP;
			if
			:: !is_over -> mem[ASLEEP] = IS_WATCHING
			:: else
			fi
		}
#endif
#ifdef BUG_SLEEPS_AS_IT_IS
	:: is_long && mem[ASLEEP] == IS_WATCHING -> mem[ASLEEP] = IS_ASLEEP
#else
	:: is_long && mem[ASLEEP] != IS_ASLEEP -> is_over = true
#endif
	:: else
	fi
}

inline sleep_and_watch()
{
	is_over = false;
	do
	:: !is_over && is_any_noted ->
		choose_pause();
		announce_watch();
		if
		:: !is_over && !is_long ->
			begin_sleep(IS_WATCHING);
			is_over = !is_sleeping; /* or the tick has ended */
			is_sleeping = false
		:: else ->
			if
			:: !is_over -> sleep()
			:: else
			fi;
			is_over = true
		fi
	:: !is_over && !is_any_noted ->
		sleep();
		is_over = true
	:: is_over -> break
	od
}

proctype monitor()
{
	byte seen;
	bool is_long, is_over;

	do
	:: true ->
		mem[ASLEEP] = IS_ASLEEP;
		membarrier();
		if
		:: !mem[WORK] -> sleep_and_watch()
		:: else -> mem[WORK] = 0
		fi;
		mem[ASLEEP] = AWAKE
	od
}

active proctype checker()
{
end:
	timeout ->
	assert(!mem[WORK]);
	assert(!is_any_noted || known == nr_waits)
}

init {
	atomic {
		run store_buffer(0);
		run store_buffer(1);
		run store_buffer(PUSHER);
		run waiter(0);
		run waiter(1);
		run pusher(PUSHER);
		run monitor()
	}
}
