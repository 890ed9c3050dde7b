/* SPDX-License-Identifier: MIT */
/*
 * Models src/wait/ufutex.c with src/wait/timer.c and the switch: two words in
 * two buckets, waiters that park, a waker, a requeue (a condition variable's
 * broadcast), a timer and a signal. Carriers run the queued threads.
 *
 * Thread 0 waits on word 0 with a deadline, then on word 1 without a deadline.
 * Thread 1 waits on word 1. A signal may end one wait of thread 0.
 *
 * wait_bucket names the bucket from just before the thread takes the lock until
 * its wait is over, then no bucket (UFUTEX-1). A thread that holds the lock of
 * the named bucket may therefore end the wait. Were the name kept, the waiter
 * could begin to wait in another bucket meanwhile (BUG_BUCKET_KEPT).
 *
 * Holds: a thread runs again only after its context was saved, and once per
 * wait (UFUTEX-2, UFUTEX-3). Each waiter that a waker counted was woken by it,
 * and the waker counted each waiter that it woke. No wait is left over (a stuck
 * state would be reported). A deadline never ends a wait that has none
 * (UFUTEX-4, TIMER-2).
 */
#define NONE 255
#define NR_THREADS 2

#define WOKEN 1
#define TIMED_OUT 2
#define INTERRUPTED 3
#define DIFFERED 4

bool word[2];
bool locked[2];			/* bucket locks; bucket n holds word n */

/* A thread's fields of UFUTEX-1. */
byte wait_addr[NR_THREADS] = NONE;
byte wait_bucket[NR_THREADS] = NONE;
byte generation[NR_THREADS];
byte result[NR_THREADS];

bool is_armed;			/* thread 0 is in the timer heap */
bool exit_work;			/* a signal waits for thread 0 */

/* The switch. */
bool is_saved[NR_THREADS];
bool may_run[NR_THREADS];
chan runq = [NR_THREADS] of { byte };

byte nr_counted, nr_woken;	/* by wakers; in the waiters' results */
byte nr_left = NR_THREADS;

#define lock(b) atomic { !locked[b] -> locked[b] = true }
#define unlock(b) locked[b] = false

/* Takes two locks, in order of address. */
inline lock_both()
{
	lock(0);
	lock(1)
}

inline dequeue(t, how)
{
	d_step {
		assert(wait_addr[t] != NONE && locked[wait_bucket[t]]);
		wait_addr[t] = NONE;
#ifndef BUG_BUCKET_KEPT
		wait_bucket[t] = NONE;
#endif
		result[t] = how
	}
}

/* --- waiting ------------------------------------------------------------ */

inline save_and_switch(b)
{
#ifdef BUG_UNLOCK_BEFORE_SWITCH
	unlock(b);
	is_saved[me] = true;
#else
	is_saved[me] = true;
	unlock(b);		/* the callback behind the switch; UFUTEX-2 */
#endif
	atomic { may_run[me] -> may_run[me] = false }
}

/* Thread 0 waits for word 0 with a deadline; every other wait is for word 1. */
proctype waiter(byte me)
{
	byte b = me, how;
	bool is_equal, has_work, is_timed = (me == 0);

again:
#ifdef BUG_COMPARE_BEFORE_LOCK
	is_equal = !word[b];
#endif
#ifdef BUG_WORK_READ_FIRST
	has_work = (me == 0 && exit_work);
#endif
	wait_bucket[me] = b;
	lock(b);
#ifndef BUG_COMPARE_BEFORE_LOCK
	is_equal = !word[b];	/* UFUTEX-5 */
#endif
#ifndef BUG_WORK_READ_FIRST
	has_work = (me == 0 && exit_work);
#endif
	if
	:: !is_equal || has_work ->
		wait_bucket[me] = NONE;
		unlock(b);
		if
		:: has_work -> how = INTERRUPTED
		:: else -> how = DIFFERED
		fi
	:: else ->
		wait_addr[me] = b;
		generation[me]++;
		if
		:: is_timed -> is_armed = true
		:: else
		fi;
		save_and_switch(b);
		how = result[me];
		if
		:: is_timed -> is_armed = false
		:: else
		fi
	fi;
	d_step {
		assert(is_timed || how != TIMED_OUT);
		is_equal = false;
		is_timed = false;
		has_work = false;
		if
		:: me == 0 -> exit_work = false	/* the handler runs */
		:: else
		fi;
		if
		:: how == WOKEN -> nr_woken++
		:: else
		fi
	};
	if
	:: b == 0 ->
		b = 1;
		goto again
	:: b == 1 && how == INTERRUPTED ->
		goto again
	:: else
	fi;
	nr_left--
}

/* Stands for all carriers, one at a time: runs a queued thread. */
active proctype carrier()
{
	byte t;

end_idle:
	do
	:: runq?t ->
		d_step {
			assert(is_saved[t] && !may_run[t]);
			is_saved[t] = false;
			may_run[t] = true;
			t = 0
		}
	od
}

/* --- waking ------------------------------------------------------------- */

/* Takes all threads that wait on word b; bucket b is locked. */
inline take_all(b)
{
	d_step {
		i = 0;
		do
		:: i < NR_THREADS ->
			if
			:: wait_addr[i] == b ->
				dequeue(i, WOKEN);
				nr_counted++;
				taken[i] = true
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

inline queue_taken()
{
	do
	:: i < NR_THREADS ->
		if
		:: taken[i] -> runq!i
		:: else
		fi;
		d_step {
			taken[i] = false;
			i++
		}
	:: else -> break
	od
}

/* Changes word 0 and wakes the threads that wait on it. */
active proctype waker()
{
	bool taken[NR_THREADS];
	byte i;

	word[0] = true;
	lock(0);
	take_all(0);
	unlock(0);
	queue_taken()
}

/* Moves the waiters of word 0 to word 1, then changes word 1 and wakes them. */
active proctype requeuer()
{
	bool taken[NR_THREADS];
	byte i;

	lock_both();
	if
	:: wait_addr[0] == 0 && !word[0] ->
		/* Its bucket, then its lock: readers check in this order. */
		wait_addr[0] = 1;
		wait_bucket[0] = 1
	:: else
	fi;
	unlock(0);
	unlock(1);
	word[1] = true;
	lock(1);
	take_all(1);
	unlock(1);
	queue_taken()
}

/* --- ending a wait otherwise -------------------------------------------- */

/* g is the required generation, or 0 for any. */
inline end_wait(t, g, how)
{
	do
	:: true ->
		b = wait_bucket[t];
		if
		:: b == NONE -> break
		:: else
		fi;
		lock(b);
#ifdef BUG_NO_SECOND_CHECK
		if
		:: true -> break
		fi
#else
		if
		:: wait_bucket[t] == b -> break
		:: else -> unlock(b)	/* requeued meanwhile */
		fi
#endif
	od;
	if
	:: b == NONE -> is_ours = false
	:: else ->
#ifdef BUG_NO_GENERATION
		is_ours = wait_addr[t] != NONE;
#else
		is_ours = wait_addr[t] != NONE &&
			  (g == 0 || generation[t] == g);
#endif
		if
		:: is_ours -> dequeue(t, how)
		:: else
		fi;
		unlock(b)
	fi;
	if
	:: is_ours -> runq!t
	:: else
	fi
}

/* The deadline has come, at any time: out of the heap, then end the wait. */
active proctype timer()
{
	byte b, g;
	bool is_ours;

end_not_armed:
	atomic {
		is_armed ->
		is_armed = false;
		g = generation[0]	/* TIMER-2 */
	};
	end_wait(0, g, TIMED_OUT)
}

active proctype signal()
{
	byte b;
	bool is_ours;

	exit_work = true;
	end_wait(0, 0, INTERRUPTED);
	assert(!exit_work || wait_addr[0] == NONE)
}

init {
	atomic {
		run waiter(0);
		run waiter(1)
	};
	nr_left == 0;
	assert(nr_counted == nr_woken);
	assert(!may_run[0] && !may_run[1])
}
