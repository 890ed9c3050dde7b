/* SPDX-License-Identifier: MIT */
/*
 * Models bench/papers/locks/peterson.c: two threads, again and again, on a
 * machine with store buffers. A store goes into its thread's buffer, first in
 * first out as on x86, and reaches memory later. A load takes the thread's
 * latest store to the variable, if that is in the buffer, else the value in
 * memory. A fence waits until the buffer is empty.
 *
 * With VARIANT_STORES_OVERTAKE a store may overtake a store to another
 * variable, as on machines with a separate instruction for store fences.
 *
 * Holds: one thread at a time is inside; neither thread waits without end.
 */
#define NR_THREADS 2

mtype = { WANTS, FIRST };

typedef store_buffer {
	chan stores = [4] of { mtype, byte };
}
store_buffer buffer[NR_THREADS];

/* Shared memory. */
bool wants[NR_THREADS];
byte first;

/* The true state, which no thread knows. */
byte nr_inside;

#define fence(me) empty(buffer[me].stores)

/* lock_store_fence */
inline store_fence(me)
{
#ifdef BUG_NO_STORE_FENCE
	skip
#elif defined(VARIANT_STORES_OVERTAKE)
	fence(me)
#else
	skip	/* the buffer keeps the order */
#endif
}

/* The next store of thread `me` to a variable reaches memory. */
#if defined(VARIANT_STORES_OVERTAKE) || defined(BUG_NO_STORE_FENCE)
#define next_store(variable) buffer[me].stores??variable, value
#else
#define next_store(variable) buffer[me].stores?variable, value
#endif

proctype drain(byte me)
{
	byte value;

end_empty:
	do
	:: atomic { next_store(WANTS) -> wants[me] = value; value = 0 }
	:: atomic { next_store(FIRST) -> first = value; value = 0 }
	od
}

#define other (1 - me)

/*
 * Does the other thread let this one go first? No while this thread's own store
 * is in the buffer.
 */
#define may_go_first (!(buffer[me].stores??[FIRST, _]) && first == me)

proctype thread(byte me)
{
	do
	:: buffer[me].stores!WANTS, 1;
	   store_fence(me);
	   buffer[me].stores!FIRST, other;
#ifndef BUG_NO_FENCE
	   fence(me);
#endif
	   /* Two loads in a loop: either of them ends the wait. */
	   if
	   :: !wants[other]
	   :: may_go_first
	   fi;
	   nr_inside++;
	   assert(nr_inside == 1);
	   nr_inside--;
	   buffer[me].stores!WANTS, 0
	od
}

init {
	atomic {
		run drain(0);
		run drain(1);
		run thread(0);
		run thread(1)
	}
}
