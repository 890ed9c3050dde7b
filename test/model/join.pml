/* SPDX-License-Identifier: MIT */
/*
 * Models src/thread/join.c with the end of a thread (exit.c). Two threads join
 * it, the first until a deadline that may come, and a third detaches it or
 * tries to join it. The bucket's lock decides which of them may.
 *
 * Holds: the thread is freed once if one of the three was allowed to free it,
 * and not touched after that; else it can still be joined. A joiner that waits
 * is woken.
 */
#define NR_JOINERS 2
#define NOBODY 0
#define PARKED 1
#define WOKEN 2

bool locked;
bool is_done, is_detached;
byte joiner;			/* index + 1; 0: none */
byte parked[NR_JOINERS + 1];
byte nr_freed, nr_told, nr_going = 4;

#define lock() atomic { !locked -> locked = true }
#define unlock() locked = false
#define touch() assert(nr_freed == 0)

inline free_it()
{
	d_step {
		touch();
		nr_freed++
	}
}

/* If a caller may not join, an earlier caller will free the thread. */
inline begin_locked(who)
{
	if
	:: joiner != NOBODY || is_detached -> may = false
	:: else ->
		may = true;
		joiner = who
	fi
}

/* A time-out leaves the list by itself, or a waker has removed it. */
inline wait_parked(who)
{
	if
	:: parked[who] == WOKEN
	:: who == 1 ->
		lock();
		parked[who] = NOBODY;
		unlock()
	fi
}

proctype joins(byte who)
{
	bool may, is_mine;

	lock();
	begin_locked(who);
	if
	:: may && !is_done ->
		parked[who] = PARKED;
		unlock();
		wait_parked(who);
		lock();
		is_mine = is_done;
		if
#ifndef BUG_STAYS_JOINER
		:: !is_mine -> touch(); joiner = NOBODY
#endif
		:: else
		fi;
		unlock()
	:: else ->
		is_mine = may;
		unlock()
	fi;
	if
	:: is_mine -> nr_told++; free_it()
	:: else
	fi;
	nr_going--
}

proctype detaches_or_tries()
{
	bool may, was_done;

	if
	:: true ->
		lock();
		was_done = is_done;
		may = (joiner == NOBODY && !is_detached);
		if
		:: may -> is_detached = true
		:: else
		fi;
		unlock();
		if
		:: may -> nr_told++
		:: else
		fi
	:: is_done ->
		lock();
		begin_locked(NR_JOINERS + 1);
		was_done = true;
		unlock();
		if
		:: may -> nr_told++
		:: else
		fi
	fi;
	if
	:: may && was_done -> free_it()
	:: else
	fi;
	nr_going--
}

proctype ends()
{
	bool was_detached, has_joiner;

#ifdef BUG_STATE_READ_EARLY
	was_detached = is_detached;
	lock();
#else
	lock();
	was_detached = is_detached;
#endif
	touch();
	if
	:: parked[1] == PARKED -> parked[1] = WOKEN; has_joiner = true
	:: parked[2] == PARKED -> parked[2] = WOKEN; has_joiner = true
	:: parked[1] != PARKED && parked[2] != PARKED
	fi;
#ifdef BUG_DONE_UNLOCKED
	unlock();
	is_done = true;
#else
	is_done = true;
	unlock();
#endif
	if
	:: !has_joiner && was_detached -> free_it()
	:: else
	fi;
	nr_going--
}

active proctype checker()
{
	nr_going == 0;
	assert(nr_told <= 1 && nr_freed == nr_told);
	assert(nr_told == 1 || joiner == NOBODY)
}

init {
	atomic {
		run joins(1);
		run joins(2);
		run detaches_or_tries();
		run ends()
	}
}
