/* SPDX-License-Identifier: MIT */
/*
 * Models src/shared/cond.c, the protocol until glibc 2.40, and with
 * VARIANT_BY_START that since 2.41. Two threads wait for `ready`, and a third
 * thread waits and gives up at times; it passes on a signal that it gets. One
 * thread sets `ready` for the two, each time with a signal.
 *
 * A sleep begins if the word still has the value that the sleeper read, and
 * ends by a wake alone. Not modelled are the wait for the lock, the threads
 * that read a group's signals (SHARED_COND-8), and `users`.
 *
 * Holds: both waiters return, even if one takes the signal meant for the other.
 */
#define NR_WAITERS 3
#define TIMED 2		/* the waiter that gives up */
#define NR_SET 2

#if defined(VARIANT_BY_START) || defined(BUG_SIGNALS_KEPT)
#define BY_START
#endif

#ifdef BY_START
#define HAS_REFS false
#define ONE_SIGNAL 1
#else
#define HAS_REFS true
#define ONE_SIGNAL 2
#endif

bool mutex, locked;
byte ready, nr_returned;

byte next, start, places;
bit joined;		/* the group that new waiters join */
short size[2];
byte signals[2];
byte refs[2];
byte asleep[NR_WAITERS];	/* group + 1 */

#define lock_mutex() atomic { !mutex -> mutex = true }
#define unlock_mutex() mutex = false
#define lock() atomic { !locked -> locked = true }
#define unlock() locked = false

inline wake_one(group)
{
	atomic {
		if
		:: asleep[0] == group + 1 -> asleep[0] = 0
		:: asleep[1] == group + 1 -> asleep[1] = 0
		:: asleep[2] == group + 1 -> asleep[2] = 0
		:: asleep[0] != group + 1 && asleep[1] != group + 1 &&
		   asleep[2] != group + 1
		fi
	}
}

inline wake_all(group)
{
	d_step {
		asleep[0] = (asleep[0] == group + 1 -> 0 : asleep[0]);
		asleep[1] = (asleep[1] == group + 1 -> 0 : asleep[1]);
		asleep[2] = (asleep[2] == group + 1 -> 0 : asleep[2])
	}
}

inline set_start_locked(old)
{
#ifdef BY_START
	start = end;
#ifndef BUG_SIGNALS_KEPT
	signals[1 - old] = end		/* SHARED_COND-11 */
#endif
#else
	signals[old] = signals[old] | 1;
	wake_all(old);
#ifndef BUG_STARTS_BESIDE_THEM
	refs[old] == 0;
#endif
	start = end;
	signals[old] = 0
#endif
}

/* Runs under the lock; n is an earlier value of next. */
inline next_group_locked()
{
	end = start + places;
	if
	:: n - end + size[1 - first] == 0 -> wakes = false
	:: else ->
		set_start_locked(first);
		d_step {
			joined = 1 - joined;
			places = next - end
		};
		first = 1 - first;
		size[first] = size[first] + places;
		wakes = size[first] != 0
	fi
}

inline signal()
{
	lock();
	d_step {
		n = next;
		first = 1 - joined;
		wakes = size[first] != 0
	};
	if
	:: !wakes ->
		next_group_locked()
	:: else
	fi;
	if
	:: wakes ->
		signals[first] = signals[first] + ONE_SIGNAL;
		size[first]--
	:: else
	fi;
	unlock();
	if
	:: wakes -> wake_one(first)
	:: else
	fi;
	d_step {
		n = 0;
		first = 0;
		end = 0;
		wakes = false
	}
}

/* SHARED_COND-4 */
inline give_up()
{
	lock();
	if
	:: place < start -> has_signal = true
	:: place >= start && place < start + places ->
		has_signal = size[g] == 0;
		if
		:: !has_signal -> size[g]--
		:: else
		fi
	:: else -> size[g]--
	fi;
	unlock();
	if
#ifdef BUG_SIGNAL_KEPT
	:: has_signal
#else
	:: has_signal -> signal()
#endif
	:: else
	fi;
	has_signal = false
}

#define has_ended() (place < st || (HAS_REFS && (seen & 1)))
#ifdef BY_START
#define is_signalled() (seen > st)
#else
#define is_signalled() (seen != 0)
#endif

inline await_signal()
{
	refs[g]++;
	do
	:: true ->
		seen = signals[g];
		st = start;
		if
		:: has_ended() -> is_late = false; break
		:: !has_ended() && is_signalled() ->
			atomic {
				if
				:: signals[g] == seen ->
					signals[g] = seen - ONE_SIGNAL;
					is_late = false;
					break
				:: else
				fi
			}
		:: !has_ended() && !is_signalled() && is_late -> break
		:: else ->
			atomic {
				if
				:: signals[g] == seen -> asleep[me] = g + 1
				:: else
				fi
			};
			if
			:: asleep[me] == 0
			:: atomic { me == TIMED && asleep[me] != 0 ->
				asleep[me] = 0;
				is_late = true }
			fi
		fi
	od;
	atomic {
		refs[g]--;
		seen = 0;
		st = 0
	}
}

proctype waiter(byte me)
{
	byte place, seen, st, n, end;
	bit g, first;
	bool is_late, has_signal, wakes;

	lock_mutex();
	do
	:: ready > 0 || is_late -> break
	:: else ->
		atomic {
			place = next;
			g = joined;
			next++
		};
		unlock_mutex();
		await_signal();
		if
		:: is_late -> give_up()
		:: else
		fi;
		lock_mutex()
	od;
	if
	:: me == TIMED ->
		unlock_mutex();
		if
		:: !is_late -> signal()
		:: else
		fi
	:: else ->
		ready--;
		nr_returned++;
		unlock_mutex()
	fi
}

/* Signals with the mutex held or after it. */
proctype signaller()
{
	byte nr_set, n, end;
	bit first;
	bool wakes;

	do
	:: nr_set < NR_SET ->
		nr_set++;
		lock_mutex();
		ready++;
		if
		:: true -> signal(); unlock_mutex()
		:: true -> unlock_mutex(); signal()
		fi
	:: else -> break
	od
}

active proctype checker()
{
end:
	timeout ->
	assert(nr_returned == 2 && ready == 0);
	assert(refs[0] == 0 && refs[1] == 0 && !mutex && !locked)
}

init {
	atomic {
		run waiter(0);
		run waiter(1);
		run waiter(TIMED);
		run signaller()
	}
}
