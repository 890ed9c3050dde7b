/* SPDX-License-Identifier: MIT */
/*
 * Models a wait for a word: src/wait/word.c, with the user futex's bucket
 * (src/wait/ufutex.c), a poll by another VP (src/wait/word_poll.c), a doorbell
 * and a time-out. The word changes once. One thread waits for that, twice in a
 * row at the same place, and no other thread uses its bucket.
 *
 * Plain stores go through a store buffer, first in first out, as on x86. A
 * locked instruction or a fence waits until the issuer's buffer is empty.
 *
 * Holds: a thread that waits for a word that has changed comes back, once for
 * each wait, and no thread is left in the bucket or in the array. With
 * VARIANT_CHECK there is no doorbell, and a VP polls for as long as a thread
 * waits; with VARIANT_TIMED the wait may end by its deadline.
 */
#define WAITER 0
#define WRITER 1
#define POLLER 2
#define NR 3

#ifdef VARIANT_CHECK
#define RINGS 0
#else
#define RINGS 1
#endif

#ifdef BUG_NOT_LEFT
#define VARIANT_TIMED
#endif

/* Words of shared memory. */
#define WORD 0
#define STATE 1		/* 1: a thread waits there */
#define HOLDER 2	/* waiter and 1, in the array */
#define BUCKET 3	/* lock */
#define NR_WORDS 4

byte mem[NR_WORDS];
chan buffer[NR] = [4] of { byte, byte };

bool is_in_bucket;	/* t->wait_addr is the key; bucket */
bool is_parked;		/* its context is saved */
bool is_runnable;	/* queued; never twice */
byte nr_waits;
bool is_waiting;	/* the program is in the call */

#define fence empty(buffer[me])
#define st(word, value) buffer[me]!word, value

/* Loads the newest own store in the buffer, or memory. */
inline ld(word, to)
{
	atomic {
		if
		:: buffer[me]??[eval(word), 0] && !(buffer[me]??[eval(word), 1])
			-> to = 0
		:: buffer[me]??[eval(word), 1] -> to = 1
		:: else -> to = mem[word]
		fi
	}
}

#define lock atomic { fence && mem[BUCKET] == 0 -> mem[BUCKET] = 1 }
#define unlock st(BUCKET, 0)

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

inline make_ready()
{
	atomic {
		assert(!is_runnable);
		assert(is_parked);
		is_runnable = true
	}
}

/* wf_word_take_waiter: WORD-1. */
inline take_waiter()
{
	taken = false;
#ifndef BUG_NO_LOCK_IN_TAKE
	lock;
#endif
	ld(HOLDER, holder);
	if
	:: holder == 1 && is_in_bucket ->
		st(HOLDER, 0);
		st(STATE, 0);
		is_in_bucket = false;
		taken = true
	:: else
	fi;
#ifndef BUG_NO_LOCK_IN_TAKE
	unlock;
#endif
	if
	:: taken -> make_ready()
	:: else
	fi
}

proctype waiter(byte me)
{
	byte now, holder;
	bool timed_out, is_noted;

again:
	is_waiting = true;
	do
	:: true ->
		ld(WORD, now);
		if
		:: now == 1 || timed_out -> break
		:: else
		fi;
		is_noted = false;
		lock;
		st(HOLDER, 1);
		st(STATE, 1);
#ifndef BUG_NO_FENCE_IN_WAIT
#ifndef VARIANT_CHECK
		fence;	/* WORD-2; not needed without a doorbell */
#endif
#endif
		ld(WORD, now);
#ifdef BUG_NO_SECOND_CHECK
		now = 0;
#endif
		if
		:: now == 1 ->
			st(HOLDER, 0);
			st(STATE, 0);
			unlock
		:: else ->
			is_noted = true;
			is_in_bucket = true;
			/* The bucket is released when the context is saved. */
			is_parked = true;
			unlock;
			if
			:: atomic { is_runnable -> is_runnable = false };
				is_parked = false
#ifdef VARIANT_TIMED
			/* wf_ufutex_end_wait, then the thread leaves. */
			:: true ->
				lock;
				if
				:: is_in_bucket ->
					is_in_bucket = false;
					unlock;
					is_parked = false;
					timed_out = true;
#ifndef BUG_NOT_LEFT
					lock;
					ld(HOLDER, holder);
					if
					:: holder == 1 ->
						st(HOLDER, 0);
						st(STATE, 0)
					:: else
					fi;
					unlock
#endif
				:: else ->
					unlock;
					atomic {
						is_runnable ->
						is_runnable = false
					};
					is_parked = false
				fi
#endif
			fi
		fi
	od;
	is_waiting = false;
	timed_out = false;
	nr_waits++;
	if
	:: nr_waits < 2 -> goto again
	:: else
	fi
}

/* The program changes the word, then rings: wf_word_ring. */
proctype writer(byte me)
{
	byte state, holder;
	bool taken;

	st(WORD, 1);
#if RINGS
#ifndef BUG_NO_FENCE_IN_RING
	fence;
#endif
	ld(STATE, state);
	if
	:: state == 1 -> take_waiter()
	:: else
	fi
#endif
}

/*
 * A VP that polls the word. It may read a wait that is only half recorded. With
 * a doorbell it may never poll.
 */
proctype poller(byte me)
{
	byte state, now, holder;
	bool taken;

end_looking:
	do
	:: mem[STATE] == 1 && mem[WORD] == 1 ->
		take_waiter()
#if RINGS
	:: break
#endif
	od
}

active proctype checker()
{
end_checking:
	timeout ->
	assert(nr_waits == 2 && !is_waiting);
	assert(!is_in_bucket && mem[STATE] == 0 && mem[HOLDER] == 0)
}

init {
	atomic {
		run store_buffer(WAITER);
		run store_buffer(WRITER);
		run store_buffer(POLLER);
		run waiter(WAITER);
		run writer(WRITER);
		run poller(POLLER)
	}
}
