/* SPDX-License-Identifier: MIT */
/*
 * Models src/sync/cond.c: a mutex, the words seq and waiters, the bucket of
 * seq with its lock and its list. Two threads wait for `ready`, which one
 * thread sets before it signals: each signal is for one. A waiter counts
 * itself, releases the mutex and enters the list in one (COND-7), or in steps
 * (COND-2), as it likes. One more thread
 * broadcasts for nothing.
 *
 * Holds: every waiter returns (a stuck state would be reported); the count is
 * 0 at last (COND-3). A destroyer that waits for the count is woken.
 */
#define NR_WAITERS 2
#define NONE 0
#define PARKED 1
#define WOKEN 2

bool mutex, locked;
byte seq, waiters;
byte ready;
chan parked = [NR_WAITERS] of { byte };
byte state[NR_WAITERS] = NONE;
byte nr_set, nr_returned;
bool are_signalled, is_dying, is_woken;

#define lock_mutex() atomic { !mutex -> mutex = true }
#define unlock_mutex() mutex = false
#define lock() atomic { !locked -> locked = true }
#define unlock() locked = false

/* Counts a waiter out under the lock; is_last: a destroyer waits for that. */
inline count_out()
{
	waiters--;
	is_last = (is_dying && waiters == 0)
}

inline tell()
{
	if
	:: is_last -> is_woken = true
	:: else
	fi
}

proctype waiter(byte me)
{
	byte old;
	bool is_last;

	lock_mutex();
	do
	:: ready > 0 -> break
	:: else ->
		state[me] = NONE;
		if
		:: true ->			/* COND-7 */
			lock();
#ifdef BUG_RELEASED_FIRST
			unlock_mutex();
			waiters++;
#else
			waiters++;
			unlock_mutex();
#endif
			parked!me;
			state[me] = PARKED;
			unlock();
			state[me] == WOKEN
		:: true ->			/* COND-2 */
			lock();
			waiters++;
			unlock();
#ifdef BUG_SEQ_READ_LATE
			unlock_mutex();
			old = seq;
#else
			old = seq;
			unlock_mutex();
#endif
			lock();
			if
			:: seq != old ->
				count_out();
				unlock();
				tell()
			:: else ->
				parked!me;
				state[me] = PARKED;
				unlock();
				state[me] == WOKEN
			fi
		fi;
		lock_mutex()
	od;
	ready--;
	nr_returned++;
	unlock_mutex()
}

inline signal()
{
	if
	:: waiters != 0 ->			/* COND-1: no lock */
		lock();
#ifndef BUG_SEQ_KEPT
		seq++;
#endif
		if
		:: parked?t ->
			waiters--;
			state[t] = WOKEN
		:: empty(parked)
		fi;
		unlock()
	:: else
	fi
}

/* Signals with the mutex held or after it. */
proctype signaller()
{
	byte t;

	do
	:: nr_set < NR_WAITERS ->
		nr_set++;
		lock_mutex();
		ready++;
		if
		:: true -> signal(); unlock_mutex()
		:: true -> unlock_mutex(); signal()
		fi
	:: else -> break
	od;
	are_signalled = true
}

/* A broadcast without a change; then it counts out the threads it has woken. */
proctype broadcaster()
{
	byte t, n;
	bool is_last;

	if
	:: waiters != 0 ->
		lock();
		seq++;
		unlock();
		lock();
		do
		:: parked?t -> state[t] = WOKEN; n++
		:: empty(parked) -> break
		od;
		unlock();
		lock();
		waiters = waiters - n;
		is_last = (n > 0 && is_dying && waiters == 0);
		unlock();
		tell()
	:: else
	fi
}

/*
 * Destroys the condition when all waiters are signalled: it waits for the
 * count.
 */
proctype destroyer()
{
	are_signalled;
	lock();
	is_dying = true;
	unlock();
	if
	:: waiters == 0
	:: is_woken
	fi
}

active proctype checker()
{
end:
	timeout ->
	assert(nr_returned == NR_WAITERS);
	assert(waiters == 0 && empty(parked));
	assert(!mutex && !locked)
}

init {
	atomic {
		run waiter(0);
		run waiter(1);
		run signaller();
		run broadcaster();
		run destroyer()
	}
}
