/* SPDX-License-Identifier: MIT */
/*
 * Models a VP's remote queue and the word `pending`, which says that the queue
 * is not empty: src/sched/pick.c (check_pending), queue.c
 * (wf_queue_push_remote), inject.c. At each pick the owner reads only the word.
 * One thread pushes. The monitor pushes, too, or sets the word for a reason of
 * its own.
 *
 * Plain stores go through a store buffer, first in first out, as on x86. A
 * locked instruction or a fence waits until the issuer's buffer is empty.
 *
 * Holds: when no process can make a step any more, the remote queue is empty.
 * The owner reads the remote queue's length without its lock, so it must clear
 * the word by a locked instruction. A plain store could pass that load and then
 * clear the word of a push that the load did not see.
 */
#define OWNER 2
#define NR_PROCESSES 3

#define PENDING 0
#define LENGTH 1
#define LOCK 2
#define NR_WORDS 3

byte mem[NR_WORDS];
chan buffer[NR_PROCESSES] = [2] of { byte, byte };

#define st(word, value) buffer[me]!word, value
#define fence empty(buffer[me])
#define lock() atomic { fence && mem[LOCK] == 0 -> mem[LOCK] = 1 }
#define unlock() st(LOCK, 0)

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

inline push()
{
#ifdef BUG_WORD_BEFORE_PUSH
	st(PENDING, 1);
#endif
	lock();
	st(LENGTH, mem[LENGTH] + 1);
	unlock();
#ifndef BUG_WORD_BEFORE_PUSH
	st(PENDING, 1)
#endif
}

proctype pusher(byte me)
{
	push()
}

proctype monitor(byte me)
{
	if
	:: push()
	:: st(PENDING, 1)
	fi
}

inline clear_word()
{
#ifdef BUG_PLAIN_STORE
	st(PENDING, 0)
#else
	atomic {
		fence;
		mem[PENDING] = 0
	}
#endif
}

inline take_all()
{
	if
	:: mem[LENGTH] != 0 ->
		lock();
		st(LENGTH, 0);
		unlock()
	:: else
	fi
}

proctype owner(byte me)
{
end_not_asked:
	do
	:: mem[PENDING] != 0 ->
#ifdef BUG_CLEARED_AFTER
		take_all();
		clear_word()
#else
		clear_word();
		take_all()
#endif
	od
}

active proctype checker()
{
end:
	timeout ->
	assert(mem[LENGTH] == 0)
}

init {
	atomic {
		run store_buffer(0);
		run store_buffer(1);
		run store_buffer(2);
		run pusher(0);
		run monitor(1);
		run owner(OWNER)
	}
}
