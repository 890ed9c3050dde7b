/* SPDX-License-Identifier: MIT */
/*
 * Models src/sync/sem.c over the user futex: one word, one bucket, its lock and
 * its list. Two threads want one permit each, of which one may give up. Two
 * threads post one permit each; a post hands its permit to a waiter, or leaves
 * it to the next taker. One thread takes a permit if there is one. Each step on
 * the word is one atomic step, as the code makes it by a load or a
 * compare-and-swap; the lock orders the rest.
 *
 * Holds: permits are neither lost nor made (SEM-1); while a thread is parked,
 * the word has W, and as many other threads are on their way as there are
 * permits (SEM-2).
 */
#define NONE 255
#define NR_WAITERS 2
#define NR_POSTERS 2
#define W 100			/* the mark; the rest is the value */

#define PARKED 0
#define HANDED 1
#define WOKEN 2

#define value(word) (word % W)
#define mark(word) (word - word % W)

byte word;
bool locked;			/* the bucket's lock */
chan parked = [NR_WAITERS] of { byte };
byte result[NR_WAITERS] = NONE;
byte nr_taken, nr_posted, nr_ended;
byte nr_on_way;			/* woken, and not yet tried */

#define lock() atomic { !locked -> locked = true }
#define unlock() locked = false

proctype waiter(byte me; bool may_give_up)
{
	byte seen;
	bool is_woken;

again:
	seen = word;
	if
	:: seen == 0 ->
		atomic {
			if
			:: word == 0 -> word = W; seen = W
			:: else -> goto again
			fi
		}
	:: seen == W
	:: else ->
		atomic {
			if
			:: word == seen ->
				word = seen - 1;
				nr_taken++;
				nr_on_way = nr_on_way - is_woken;
				goto done
			:: else -> goto again
			fi
		}
	fi;
	lock();
	atomic {
		nr_on_way = nr_on_way - is_woken;
		is_woken = false
	}
#ifndef BUG_NOT_COMPARED
	if
	:: word != W -> unlock(); goto again	/* SEM-2 */
	:: else
	fi;
#endif
	result[me] = PARKED;
	parked!me;
	unlock();
end_parked:
	if
	:: result[me] == HANDED -> nr_taken++
	:: result[me] == WOKEN -> is_woken = true; goto again
	:: atomic { may_give_up && !locked -> locked = true };
		/*
		 * A time-out: the thread that takes it out of the list ends the
		 * wait.
		 */
		if
		:: result[me] == PARKED ->
			parked??eval(me);
			unlock()
		:: result[me] == HANDED -> nr_taken++; unlock()
		:: result[me] == WOKEN ->
			is_woken = true;
			unlock();
			goto again
		fi
	fi;
done:
	nr_ended++
}

proctype poster(bool gives_back)
{
	byte seen, t, left;
	bool is_found;

again:
	seen = word;
	if
	:: seen < W ->
		atomic {
			if
			:: word == seen -> word = seen + 1; nr_posted++
			:: else -> goto again
			fi
		}
	:: else ->
		lock();
		if
		:: parked?t -> is_found = true
		:: empty(parked)
		fi;
		if
		:: is_found && !gives_back ->
			nr_posted++;
			result[t] = HANDED
		:: else ->
#ifdef BUG_MARK_DROPPED
			left = 0;
#else
			left = (len(parked) > 0 -> W : 0);
#endif
retry:
			seen = word;
			atomic {
				if
				:: word != seen -> goto retry
				:: else ->
					word = value(seen) + 1 + left;
					nr_posted++
				fi
			};
			if
			:: is_found ->
				atomic { nr_on_way++; result[t] = WOKEN }
			:: else
			fi
		fi;
		unlock()
	fi
}

/* Takes a permit if there is one; never waits. */
proctype taker()
{
	byte seen;

	seen = word;
	if
	:: value(seen) != 0 ->
		atomic {
			if
			:: word == seen -> word = seen - 1; nr_taken++
			:: else
			fi
		}
	:: else
	fi
}

/* Checks SEM-2 whenever no thread holds the lock. */
active proctype observer()
{
end:
	atomic {
		!locked && nempty(parked) ->
		assert(mark(word) == W && value(word) <= nr_on_way)
	}
}

/* Checks the end, when no thread can make a step. */
active proctype checker()
{
end:
	timeout ->
	assert(nr_posted == NR_POSTERS);
	assert(nr_taken + value(word) == nr_posted);
	/* A thread that is still parked found no permit to take. */
	assert(len(parked) == NR_WAITERS - nr_ended);
	assert(empty(parked) || nr_taken == nr_posted)
}

inline select_kind(kind)
{
	if
	:: kind = true
	:: kind = false
	fi
}

init {
	bool gives_back[NR_POSTERS];

	atomic {
		select_kind(gives_back[0]);
		select_kind(gives_back[1]);
		run waiter(0, true);
		run waiter(1, false);
		run poster(gives_back[0]);
		run poster(gives_back[1]);
		run taker()
	}
}
