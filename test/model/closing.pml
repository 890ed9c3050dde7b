/* SPDX-License-Identifier: MIT */
/*
 * Models how an ending thread closes its queue of signals without a lock,
 * beside a thread that puts a signal for the process there: ROUTING-5 of
 * src/signal/routing.c, queue.h, start.c. Then the slot is used again, by a
 * thread that does not end.
 *
 * The plain stores of the thread go through a store buffer, first in first out,
 * as on x86; a lock waits until it is empty, a membarrier until it was empty
 * once. Whether the sender holds a further lock makes no difference to the
 * other threads.
 *
 * Holds: when no thread can make a step any more, the signal was sent on or
 * handled, once, and the queue is empty.
 */
#define CLOSED 0
#define DONE 1
#define NR_WORDS 2

byte mem[NR_WORDS];
chan buffer = [2] of { byte, byte };
bit pending, lock;
byte nr_sent_on, nr_handled;

#define st(word, value) buffer!word, value
#define take_lock() atomic { lock == 0 -> lock = 1 }

proctype store_buffer()
{
	byte word, value;

end_empty:
	do
	:: atomic {
		buffer?word, value ->
		mem[word] = value;
		word = 0;
		value = 0
	   }
	od
}

/*
 * Takes the signal out of the queue; the taking thread handles or resends it.
 */
inline take(counter)
{
	take_lock();
	if
	:: pending ->
		pending = 0;
		counter++
	:: else
	fi;
	lock = 0
}

proctype ending()
{
#ifdef BUG_CHECKS_FIRST
	bit seen = pending;

	st(CLOSED, 1);
#else
	bit seen;

	st(CLOSED, 1);
	seen = pending;
#endif
	if
	:: seen ->
		empty(buffer);
		take(nr_sent_on)
	:: else
	fi;
	st(DONE, 1)
}

proctype sender()
{
	bit was_put;

	take_lock();
	if
	:: mem[CLOSED] -> nr_sent_on++
	:: else ->
		pending = 1;
		was_put = 1
	fi;
	lock = 0;
	if
	:: was_put ->
#ifndef BUG_NO_BARRIER
		empty(buffer);
#endif
#ifndef BUG_NO_SECOND_CHECK
		if
		:: mem[CLOSED] -> take(nr_sent_on)
		:: else
		fi
#endif
	:: else
	fi
}

/* The next thread's creator, and then the next thread, both in this slot. */
proctype next_thread()
{
	mem[DONE];
#ifdef BUG_CREATOR_DROPS
	take_lock();
	pending = 0;
	lock = 0;
#else
	if
	:: pending -> take(nr_sent_on)
	:: else
	fi;
#endif
	mem[CLOSED] = 0;
end_runs:
	do
	:: pending -> take(nr_handled)
	od
}

/* The slot may also stay unused. */
proctype nobody()
{
	skip
}

active proctype checker()
{
end:
	timeout ->
	assert(nr_sent_on + nr_handled == 1);
	assert(!pending)
}

init {
	atomic {
		run store_buffer();
		run ending();
		run sender();
		if
		:: run next_thread()
		:: run nobody()
		fi
	}
}
