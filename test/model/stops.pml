/* SPDX-License-Identifier: MIT */
/*
 * Models which thread lets a signal through that stops or ends the process:
 * SIGNAL_RECEIVER-4 to SIGNAL_RECEIVER-7 of src/signal/signal_receiver.c,
 * ACTION-5 of action.c, wf_routing_closed and take_opened. There is one signal.
 * Thread 0 closes and opens it. A worker takes it until the worker ends or
 * closes it. In VARIANT_HANDLER a thread that sets and removes a handler is in
 * the worker's place.
 *
 * The stores of the ending worker go through a store buffer, as on x86, as no
 * fence follows; a membarrier waits until it is empty. Elsewhere the code has
 * fences.
 *
 * Holds: the receiver's mask is never open after the last thread that takes the
 * signal has stopped to and has returned, or while there is a handler. When no
 * thread can make a step any more, the mask is open if a thread takes the
 * signal and the action is the default, and closed otherwise.
 */
#ifdef BUG_HANDLER_AT_ONCE
#define VARIANT_HANDLER
#endif

bit want = 1, armed, opened, is_dozing, is_poked, is_mask_open;
bit stops = 1, has_handler;
bit first_closed, first_has_returned, worker_closed, worker_has_returned;
byte nr_turns, nr_done;
chan buffer = [1] of { bit };

#define membarrier empty(buffer)
#define is_taken (!first_closed || !worker_closed)

proctype store_buffer()
{
end_empty:
	do
	:: atomic { buffer?_ -> worker_closed = 1 }
	od
}

/* --- the receiver --------------------------------------------------------- */

inline choose()
{
	atomic {
		seen = want;
		may_open = seen && stops
	};
	may_open = may_open && is_taken
}

proctype receiver()
{
	bit seen, may_open, was_seen, was_open, is_new;

	do
	:: is_dozing = 0;
	   choose();
	   do
	   :: was_seen = seen;
	      was_open = may_open;
	      atomic {
		armed = seen || is_mask_open;
		opened = may_open || is_mask_open
	      };
#ifndef BUG_NO_BARRIER
	      is_new = may_open && !is_mask_open && first_closed;
	      if
	      :: is_new -> membarrier
	      :: else
	      fi;
#endif
	      choose();
#ifdef BUG_NO_SECOND_CHECK
	      break
#else
	      if
	      :: seen == was_seen && may_open == was_open -> break
	      :: else
	      fi
#endif
	   od;
	   is_new = is_mask_open && !was_open;
	   is_mask_open = was_open;
	   atomic {
		opened = was_open;
		armed = was_seen
	   };
	   is_dozing = is_new;
	   nr_turns = 1 - nr_turns;
end_sleeps:
	   if
	   :: is_poked -> is_poked = 0
	   :: is_dozing && timeout
	   fi
	od
}

/* --- the thread that closes and opens ------------------------------------- */

/* Waits in the kernel until the receiver has armed again, or for a while. */
inline await(condition)
{
	do
	:: condition -> break
	:: else ->
	   turn = nr_turns;
	   if
	   :: condition -> break
	   :: else -> is_poked = 1
	   fi;
	   if
	   :: nr_turns != turn
	   :: timeout
	   fi
	od
}

/* wf_signal_receiver_leave_to_kernel */
inline leave_to_kernel()
{
	do
	:: turn = nr_turns;
	   is_seen = is_taken;
	   if
	   :: is_seen -> break
	   :: else -> want = 0
	   fi;
	   if
	   :: !armed -> break
	   :: else -> is_poked = 1
	   fi;
	   if
	   :: nr_turns != turn
	   :: timeout
	   fi
	od
}

/* wf_signal_receiver_want */
inline ask()
{
	if
	:: want -> skip
	:: else ->
	   want = 1;
	   if
	   :: !is_dozing -> is_poked = 1
	   :: else
	   fi
	fi
}

proctype first()
{
	byte rounds;
	bit turn, is_let, is_seen;

	do
	:: rounds < 2 ->
	   rounds++;
	   first_closed = 1;
	   is_let = opened;
	   if
	   :: is_let ->
#ifndef BUG_FIRST_NO_BARRIER
		membarrier;
#endif
		if
		:: !is_taken -> leave_to_kernel()
		:: else
		fi
	   :: else
	   fi;
	   first_has_returned = 1;
	   first_has_returned = 0;
	   first_closed = 0;
	   is_let = want;
	   if
	   :: !is_let || (stops && !opened) ->
		want = 1;
		if
		:: !is_dozing -> is_poked = 1
		:: else
		fi
	   :: else
	   fi
	:: break
	od;
	nr_done++
}

proctype worker()
{
	bit turn, is_last, is_seen;

	if
	:: buffer!1 /* the worker ends */
	:: worker_closed = 1
	fi;
	is_last = first_closed;
	if
	:: is_last ->
#ifndef BUG_NO_FENCE
		empty(buffer);
#endif
		is_last = opened;
		/* Thread 0 may open the signal again and again. */
		do
		:: is_taken || !is_last -> break
		:: else ->
		   leave_to_kernel();
		   if
		   :: is_taken -> ask()
		   :: else -> break
		   fi
		od
	:: else
	fi;
	membarrier;
	worker_has_returned = 1;
	nr_done++
}

/* --- the action ----------------------------------------------------------- */

#ifdef VARIANT_HANDLER
proctype changer()
{
	bit turn;

	if
	:: skip
	:: stops = 0;
#ifndef BUG_HANDLER_AT_ONCE
	   await(!opened || (stops && is_taken));
#endif
	   has_handler = 1;
	   if
	   :: skip
	   :: has_handler = 0;
	      stops = 1;
	      is_poked = 1
	   fi
	fi;
	nr_done++
}
#endif

#define is_wrong                                            \
	(is_mask_open &&                                    \
	 (has_handler || (first_closed && worker_closed &&  \
			  first_has_returned && worker_has_returned)))

/* Checks the invariant at any time. */
active proctype monitor()
{
	assert(!is_wrong)
}

active proctype checker()
{
end:
	timeout && !is_dozing && nr_done == 2 ->
	assert(is_mask_open == (is_taken && stops))
}

init {
	atomic {
		run store_buffer();
		run receiver();
		run first();
#ifdef VARIANT_HANDLER
		worker_closed = 1;
		worker_has_returned = 1;
		run changer()
#else
		run worker()
#endif
	}
}
