/* SPDX-License-Identifier: MIT */
/*
 * Models bench/papers/locks/fast.c, Lamport's fast mutex: two threads or, with
 * VARIANT_THREE, three, which lock in a loop, on a machine with store buffers.
 * A store goes into its thread's buffer, first in first out, and reaches memory
 * later. A load takes the thread's own latest store if that is in the buffer,
 * else the value in memory. A fence waits until the buffer is empty.
 *
 * Holds: one thread at a time is inside; the threads never all wait.
 */
#ifdef VARIANT_THREE
#define NR_THREADS 3
#else
#define NR_THREADS 2
#endif

mtype = { TRIES, LAST, OWNER };

typedef store_buffer {
	chan stores = [4] of { mtype, byte };
}
/* Threads have numbers from 1, because 0 stands for no owner. */
store_buffer buffer[NR_THREADS + 1];

/* Shared memory. */
bool tries[NR_THREADS + 1];
byte last, owner;

/* The true state, which no thread knows. */
byte nr_inside;

#define fence(me) empty(buffer[me].stores)

/* The next store of thread `me` reaches memory. */
proctype drain(byte me)
{
	byte value;

end_empty:
	do
	:: atomic { buffer[me].stores?TRIES, value -> tries[me] = value;
		    value = 0 }
	:: atomic { buffer[me].stores?LAST, value -> last = value; value = 0 }
	:: atomic { buffer[me].stores?OWNER, value -> owner = value;
		    value = 0 }
	od
}

/* The value that thread `me` sees. */
#define seen_owner (buffer[me].stores??[OWNER, _] -> own : owner)
#define is_last (buffer[me].stores??[LAST, _] || last == me)

proctype thread(byte me)
{
	byte own;	/* its latest store to owner */
	byte i;

begin:
	buffer[me].stores!TRIES, 1;
	buffer[me].stores!LAST, me;
#ifndef BUG_NO_FENCE_BEFORE_OWNER
	fence(me);	/* FAST-1 */
#endif
	if
	:: seen_owner != 0 ->
		buffer[me].stores!TRIES, 0;
		goto again
	:: seen_owner == 0
	fi;
	atomic { buffer[me].stores!OWNER, me -> own = me }
#ifndef BUG_NO_FENCE_BEFORE_LAST
	fence(me);	/* FAST-2 */
#endif
	if
	:: is_last -> goto inside
	:: !is_last
	fi;
#ifdef BUG_NOT_WAITED
	goto decide;
#endif
	buffer[me].stores!TRIES, 0;
	for (i : 1 .. NR_THREADS) {
		i == me || !tries[i]
	}
decide:
	i = 0;
	if
	:: seen_owner == me -> goto inside
	:: seen_owner != me
	fi;
again:
	seen_owner == 0;
	goto begin;

inside:
	nr_inside++;
	assert(nr_inside == 1);
	nr_inside--;
	atomic { buffer[me].stores!OWNER, 0 -> own = 0 }
	buffer[me].stores!TRIES, 0;
	goto begin
}

init {
	byte i;

	atomic {
		for (i : 1 .. NR_THREADS) {
			run drain(i);
			run thread(i)
		}
	}
}
