/* SPDX-License-Identifier: MIT */
/*
 * Models bench/papers/locks/bakery.c, Lamport's bakery: two threads or, with
 * VARIANT_THREE, three, on a machine with store buffers. A store goes into its
 * thread's buffer, first in first out, and reaches memory later. A load of
 * another thread's variable reads memory. A fence waits until the buffer is
 * empty. Each thread takes the lock a few times, because numbers may grow as
 * long as any thread wants the lock.
 *
 * Holds: one thread at a time is inside; the threads never all wait.
 */
#ifdef VARIANT_THREE
#define NR_THREADS 3
#define NR_TURNS 1
#else
#define NR_THREADS 2
#define NR_TURNS 3
#endif

mtype = { DRAWS, NUMBER };

typedef store_buffer {
	chan stores = [4] of { mtype, byte };
}
store_buffer buffer[NR_THREADS];

/* Shared memory. */
bool draws[NR_THREADS];
byte number[NR_THREADS];

/* The true state, which no thread knows. */
byte nr_inside;

#define fence(me) empty(buffer[me].stores)

/* The next store of thread `me` reaches memory. */
proctype drain(byte me)
{
	byte value;

end_empty:
	do
	:: atomic { buffer[me].stores?DRAWS, value -> draws[me] = value;
		    value = 0 }
	:: atomic { buffer[me].stores?NUMBER, value -> number[me] = value;
		    value = 0 }
	od
}

/* Does thread i wait behind thread `me`? */
#define lets_pass(i) (number[i] == 0 || number[i] > mine || \
		      (number[i] == mine && i > me))

proctype thread(byte me, nr_turns)
{
	byte mine, i;

	do
	:: nr_turns > 0 ->
		nr_turns--;
		buffer[me].stores!DRAWS, 1;
#ifndef BUG_NO_FENCE_BEFORE_NUMBERS
		fence(me);	/* BAKERY-1 */
#endif
		/* Its own number is 0, in the buffer or in memory. */
		for (i : 0 .. NR_THREADS - 1) {
			mine = (i != me && number[i] > mine -> number[i] : mine)
		}
		mine++;
		buffer[me].stores!NUMBER, mine;
		buffer[me].stores!DRAWS, 0;
#ifndef BUG_NO_FENCE_BEFORE_CHECK
		fence(me);	/* BAKERY-2 */
#endif
		for (i : 0 .. NR_THREADS - 1) {
#ifndef BUG_DRAWING_NOT_WAITED_FOR
			i == me || !draws[i];	/* BAKERY-3 */
#endif
			i == me || lets_pass(i)
		}
		nr_inside++;
		assert(nr_inside == 1);
		nr_inside--;
		buffer[me].stores!NUMBER, 0;
		d_step { mine = 0; i = 0 }
	:: nr_turns == 0 -> break
	od
}

init {
	byte i;

	atomic {
		for (i : 0 .. NR_THREADS - 1) {
			run drain(i);
			run thread(i, NR_TURNS)
		}
	}
}
