/* SPDX-License-Identifier: MIT */
/*
 * Models src/sched/reserved.c. Two threads want to change the state that the
 * kernel keeps for a third. The third thread leaves the runtime, then binds
 * itself or ends before. A spare is a number; 0 is none.
 *
 * Holds: both changing threads have the same carrier. If the third thread did
 * not end before, it alone has that carrier, and no other; a carrier that was
 * taken in vain is a spare again.
 */
#define OLD 1 /* the carrier that the third thread shares */

bit locked, is_bound, has_ended, work;
byte carrier = OLD, reserved_for_it;
byte nr_out; /* spares that were taken out of the list */
byte told[2], nr_told;

#define lock() atomic { !locked -> locked = 1 }
#define unlock() locked = 0
#define found (reserved_for_it != 0 -> reserved_for_it : \
	       (is_bound -> carrier : 0))

/* wf_reserved_make */
proctype asks(byte me)
{
	byte c = found, spare;

	if
	:: c != 0
	:: else ->
	   atomic {
		nr_out++;
		spare = OLD + 1 + me
	   };
	   lock();
#ifdef BUG_NO_SECOND_CHECK
	   c = 0;
#else
	   c = found;
#endif
	   if
	   :: c == 0 ->
	      c = spare;
	      reserved_for_it = c;
	      work = 1
	   :: else
	   fi;
	   unlock();
	   if
	   :: c != spare -> nr_out--
	   :: else
	   fi
	fi;
	atomic {
		told[me] = c;
		nr_told++
	}
}

/* wf_reserved_go_begin, and hand_over */
inline keep()
{
	goes = 0;
	lock();
	assert(!is_bound || reserved_for_it == 0 || carrier == reserved_for_it);
	if
	:: !is_bound && reserved_for_it != 0 ->
	   work = 0;
	   is_bound = 1;
	   goes = 1
	:: else
	fi;
	unlock();
	if
	:: goes -> carrier = reserved_for_it
	:: else
	fi
}

/* wf_carrier_bind: the thread binds itself, and a spare takes over its VP. */
inline bind_itself()
{
	keep();
	if
	:: goes || is_bound
	:: else ->
#ifndef BUG_STAYS_WITHOUT_LOCK
	   lock();
#endif
	   if
	   :: reserved_for_it == 0 ->
	      is_bound = 1;
	      stays = 1
	   :: else
	   fi;
#ifndef BUG_STAYS_WITHOUT_LOCK
	   unlock();
#endif
	   if
	   :: stays
	   :: else -> keep()
	   fi
	fi
}

proctype runs()
{
	bit goes, stays;

	do
	:: work -> keep() /* when it leaves the runtime */
	:: bind_itself()
	:: atomic { nr_told == 2 && !work -> break }
	:: has_ended = 1 -> break
	od
}

init {
	atomic {
		run asks(0);
		run asks(1);
		run runs()
	};
	timeout;
	assert(told[0] == told[1] && told[0] != 0);
	assert(has_ended || (is_bound && carrier == told[0]));
	assert(nr_out == (told[0] == OLD -> 0 : 1))
}
