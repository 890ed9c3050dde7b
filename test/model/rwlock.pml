/* SPDX-License-Identifier: MIT */
/*
 * Models src/sync/rwlock.c over the user futex: one word, and the lists of the
 * threads that are parked on it, by kind. Two threads read, two write, and one
 * of each kind may give up. VARIANT_WRITERS_FIRST is the preference for
 * writers. Each step on the word is one atomic step, as the code makes it by a
 * load or a compare-and-swap. The work under the bucket's lock is one step,
 * too: it reads the word at most once, and no thread touches the lists without
 * the lock.
 *
 * Holds: a writer is alone; no thread stays parked while the lock is free
 * (RWLOCK-5: a stuck state would be reported).
 */
#define NR_THREADS 4

/* The word has the number of readers and these bits. */
#define READERS 3
#define W 4
#define RW 8
#define WW 16
#define WAIT (RW | WW)

#define PARKED 0
#define WOKEN 1

byte word;
chan readers = [NR_THREADS] of { byte };	/* the parked readers */
chan writers = [NR_THREADS] of { byte };
byte result[NR_THREADS];
byte nr_reading, nr_writing, nr_ended;

#define is_held(w) ((w & (W | READERS)) != 0)
#ifdef VARIANT_WRITERS_FIRST
#define may_read(w) ((w & W) == 0 && ((w & WW) == 0 || (w & READERS) == 0))
#define readers_first(w) false
#else
#define may_read(w) ((w & W) == 0)
#define readers_first(w) ((w & RW) != 0 && (w & W) != 0)
#endif

proctype thread(byte me; bool writes, may_give_up)
{
	byte seen, wanted, wakes, other, mark, take;
	bool is_found, is_late;

	take = (writes -> W : 1);
	mark = (writes -> WW : RW);
again:
	seen = word;
	if
	:: (writes -> !is_held(seen) : may_read(seen)) ->
		atomic {
			if
			:: word == seen ->
				word = (writes -> seen | take : seen + 1);
				nr_writing = nr_writing + writes;
				nr_reading = nr_reading + !writes;
				goto inside
			:: else -> goto again
			fi
		}
	:: else
	fi;
	atomic {
		if
		:: word == seen -> word = seen | mark
		:: else -> goto again
		fi
	};
	atomic {
		if
		:: word != (seen | mark) -> goto again	/* RWLOCK-1 */
		:: word == (seen | mark) && writes -> writers!me
		:: word == (seen | mark) && !writes -> readers!me
		fi;
		result[me] = PARKED
	};
	if
	:: atomic { result[me] == WOKEN -> is_late = false }
	:: atomic {
		may_give_up && result[me] == PARKED ->
		is_late = true;
		if
		:: writes -> writers??eval(me)
		:: !writes -> readers??eval(me)
		fi
	   }
	fi;
	if
	:: !is_late ->
#ifndef BUG_OTHERS_FORGOTTEN
		take = (writes -> W | WW : 1);		/* RWLOCK-4 */
#endif
		goto again
	:: else
	fi;
#ifdef VARIANT_WRITERS_FIRST
	if
	:: writes ->
		word = word & ~WAIT;			/* RWLOCK-6 */
		atomic {
			do
			:: len(readers) > 0 ->
				readers?other;
				result[other] = WOKEN
			:: len(readers) == 0 && len(writers) > 0 ->
				writers?other;
				result[other] = WOKEN
			:: len(readers) == 0 && len(writers) == 0 -> break
			od
		}
	:: else
	fi;
#endif
	goto done;

inside:
	assert(nr_writing == 0 || (nr_writing == 1 && nr_reading == 0));
	nr_writing = nr_writing - writes;
	nr_reading = nr_reading - !writes;
leave:
	seen = word;
	wanted = (writes -> seen & ~W : seen - 1);
	wakes = 0;
	if
	:: is_held(wanted)
	:: !is_held(wanted) && readers_first(seen) -> wakes = RW
	:: !is_held(wanted) && !readers_first(seen) ->
		wakes = ((seen & WW) != 0 -> WW : seen & RW)
	fi;
	wanted = wanted & ~wakes;
	atomic {
		if
		:: word == seen -> word = wanted
		:: else -> goto leave
		fi
	};
wake:
	is_found = false;
	if
	:: wakes == RW ->
		atomic {
			do
			:: len(readers) > 0 ->
				readers?other;
				result[other] = WOKEN;
				is_found = true
			:: len(readers) == 0 -> break
			od
		}
	:: wakes == WW ->
		atomic {
			if
			:: len(writers) > 0 ->
				writers?other;
				result[other] = WOKEN;
				is_found = true
			:: len(writers) == 0
			fi
		}
	:: else
	fi;
#ifndef BUG_ONE_KIND_ONLY
	if
	:: wakes != 0 && !is_found && (wanted & WAIT) != 0 -> /* RWLOCK-5 */
		wakes = wanted & WAIT;
		wanted = 0;
		goto wake
	:: else
	fi;
#endif
done:
	nr_ended++
}

/* Checks the end, when no thread can make a step. */
active proctype checker()
{
end:
	nr_ended == NR_THREADS ->
	assert(!is_held(word) && empty(readers) && empty(writers))
}

init {
	atomic {
		run thread(0, false, false);
		run thread(1, false, true);
		run thread(2, true, false);
		run thread(3, true, true)
	}
}
