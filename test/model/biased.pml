/* SPDX-License-Identifier: MIT */
/*
 * Models how the owner of the only VP goes without the locks of the wait table,
 * and how revoking threads make it take them again: src/wait/biased.h and
 * biased.c. An owner, two revoking threads, one bucket.
 *
 * Plain stores of the owner go through a store buffer, first in first out, as
 * on x86. A locked instruction and a fence wait until the buffer is empty, a
 * membarrier until it has been empty once. A store of a revoking thread is
 * visible at once: a later one would only make the other threads wait for
 * longer.
 *
 * Holds: one thread at a time is in the bucket, and it sees the changes that
 * other threads have made there.
 */
#define LOCKS 0
#define OWN 1
#define REVOKED 2

mtype = { INSIDE, LOCK, DATA };
chan buffer = [4] of { mtype, byte };

byte state = LOCKS;
byte nr_revokers;
bool revokes;	/* the revoking threads' lock */
bool inside;
bool lock;	/* the bucket's lock */

/* The true state, which no thread reads. */
byte nr_in;

#define locked_instruction empty(buffer)

active proctype store_buffer()
{
	mtype kind;
	byte value;

end_empty:
	do
	:: atomic {
		buffer?kind, value ->
		if
		:: kind == INSIDE -> inside = value
		:: kind == LOCK -> lock = value
		:: kind == DATA
		fi;
		kind = 0;
		value = 0
	   }
	od
}

/* wf_biased_begin */
inline begin()
{
	is_alone = false;
	if
	:: state == OWN ->
		buffer!INSIDE, 1;
#ifdef BUG_NO_SECOND_CHECK
		is_alone = true
#else
		if
		:: state == OWN -> is_alone = true
		:: state != OWN -> buffer!INSIDE, 0
		fi
#endif
	:: state != OWN
	fi
}

/* private_table */
inline own_table()
{
	if
	:: nr_revokers == 0 ->
		d_step {
			locked_instruction && true;
			if
			:: state == LOCKS -> state = OWN
			:: else
			fi
		}
#ifndef BUG_NO_REGRET
		if
		:: nr_revokers == 0
		:: nr_revokers != 0 ->
			d_step {
				if
				:: state == OWN -> state = LOCKS
				:: else
				fi
			}
		fi
#endif
	:: nr_revokers != 0
	fi
}

active proctype owner()
{
	bool is_alone;

end_idle:
	do
	:: begin();
	   if
	   :: !is_alone && state == LOCKS ->
		own_table();
		begin()
	   :: true
	   fi;
	   if
	   :: is_alone
	   :: !is_alone ->
		atomic {
			locked_instruction && !lock -> lock = true
		}
	   fi;
	   d_step {
		nr_in++;
		assert(nr_in == 1)
	   }
	   buffer!DATA, 0;
	   nr_in--;
#ifdef BUG_INSIDE_FIRST
	   buffer!INSIDE, 0;
	   buffer!LOCK, 0
#else
	   buffer!LOCK, 0;
	   buffer!INSIDE, 0
#endif
	od
}

inline revoke()
{
	atomic { !revokes -> revokes = true }
	if
#ifdef BUG_NO_STATE_BETWEEN
	:: atomic { state == OWN -> state = LOCKS };
#else
	:: atomic { state == OWN -> state = REVOKED };
#endif
#ifndef BUG_NO_MEMBARRIER
		empty(buffer);
#endif
		atomic { !inside -> inside = true }
		inside = false;
		state = LOCKS
	:: state != OWN
	fi;
	revokes = false
}

active [2] proctype revoker()
{
end_away:
	do
	:: nr_revokers++;
	   if
	   :: state == LOCKS
	   :: state != LOCKS -> revoke()
	   fi;
	   atomic { !lock -> lock = true }
	   d_step {
		nr_in++;
		assert(nr_in == 1 && !(buffer??[DATA, 0]))
	   }
	   nr_in--;
	   lock = false;
	   nr_revokers--
	od
}
