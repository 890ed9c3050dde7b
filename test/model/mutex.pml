/* SPDX-License-Identifier: MIT */
/*
 * Models src/sync/mutex.c over the user futex: one word, one bucket, its lock
 * and its list. Three threads lock the mutex, one of them twice; one may give
 * up. A woken thread that has lost the race may have starved by then, and asks
 * for the mutex to be handed over. Each step on the word is one atomic step, as
 * the code makes it by a load or a compare-and-swap.
 *
 * Holds: one thread at a time has the mutex; no thread stays parked (MUTEX-2: a
 * stuck state would be reported); when all have left, the word is FREE.
 */
#define NONE 255
#define NR_THREADS 3

#define FREE 0
#define L 1			/* LOCKED */
#define C 2			/* CONTENDED */
#define H 4			/* HANDOFF */

#define PARKED 0
#define WOKEN_MORE 1
#define WOKEN_LAST 2
#define HANDED 3

byte word;
bool locked;			/* the bucket's lock */
chan parked = [NR_THREADS] of { byte };
byte result[NR_THREADS] = NONE;
byte nr_inside, nr_ended;

#define lock() atomic { !locked -> locked = true }
#define unlock() locked = false
#define is_free(w) ((w & L) == 0)

proctype thread(byte me, nr_turns; bool may_give_up)
{
	byte seen, wanted, take, first;
	bool was_woken, is_starved;

begin:
	take = L;
again:
	seen = word;
	if
	:: is_free(seen) ->
		atomic {
			if
			:: word == seen -> word = seen | take; goto inside
			:: else -> goto again
			fi
		}
	:: else
	fi;
	if
	:: was_woken -> is_starved = true
	:: true
	fi;
	was_woken = false;
	wanted = seen | C | (is_starved -> H : 0);
	atomic {
		if
		:: word == seen -> word = wanted
		:: else -> goto again
		fi
	};
	if
	/* the deadline passes before the thread parks */
	:: may_give_up -> goto give_up
	:: true
	fi;
	lock();
#ifndef BUG_NOT_COMPARED
	if
	:: word != wanted -> unlock(); goto again
	:: else
	fi;
#endif
	atomic { result[me] = PARKED; parked!me };
	unlock();
	if
	:: result[me] != PARKED
	:: may_give_up ->
		lock();
		if
		:: result[me] == PARKED ->
			parked??eval(me);
			unlock();
			goto give_up
		:: else -> unlock()
		fi
	fi;
	if
	:: result[me] == HANDED ->
		if
		:: is_starved -> word = word & ~H	/* MUTEX-4 */
		:: else
		fi;
		goto inside
	:: else ->
		was_woken = true;
#ifdef BUG_OTHERS_FORGOTTEN
		take = L;
#else
		take = (result[me] == WOKEN_MORE -> L | C : L);
#endif
		goto again
	fi;

inside:
	nr_inside++;
	assert(nr_inside == 1);
	nr_inside--;
unlocking:
	seen = word;
	assert(!is_free(seen));
	if
	:: seen & H ->
		lock();
		if
		:: parked?first ->
#ifdef BUG_HANDED_AS_LAST
			word = L;
#else
			word = (len(parked) > 0 -> L | C | H : L);
#endif
			result[first] = HANDED
		:: empty(parked) -> word = FREE
		fi;
		unlock()
	:: else ->
		atomic {
			if
			:: word == seen -> word = FREE
			:: else -> goto unlocking
			fi
		};
		if
		:: seen & C ->
			lock();
			if
			:: parked?first ->
				result[first] = (len(parked) > 0 -> WOKEN_MORE :
								   WOKEN_LAST)
			:: empty(parked)
			fi;
			unlock()
		:: else
		fi
	fi;
	nr_turns--;
	is_starved = false;
	was_woken = false;
	if
	:: nr_turns > 0 -> goto begin
	:: else -> goto done
	fi;

give_up:
	if
	:: is_starved -> word = word & ~H
	:: else
	fi;
done:
	nr_ended++
}

/* Checks the end, when no thread can make a step. */
active proctype checker()
{
end:
	nr_ended == NR_THREADS ->
	assert(word == FREE && empty(parked))
}

init {
	atomic {
		run thread(0, 2, false);
		run thread(1, 1, false);
		run thread(2, 1, true)
	}
}
