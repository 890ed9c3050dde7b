/* SPDX-License-Identifier: MIT */
/*
 * Models ROUTING-1 and ROUTING-5 of src/signal/routing.c where the slot is used
 * again. A sender of a signal to the process has chosen a thread, that thread
 * ends, and the next thread in its slot blocks the signal or not. There are
 * other threads that take the signal.
 *
 * The stores of the ending thread and of the creator of the next thread go
 * through a store buffer, as on x86; a membarrier waits until it is empty, and
 * so does the start of a thread. One buffer, as if both were on one CPU, allows
 * more orders than two.
 *
 * Holds: when no thread can make a step any more the signal has been taken
 * once, by a thread that does not block it.
 */
bit pending, is_locked;
bit is_closed, is_open = 1, exit_work;
byte nr_taken;

mtype = { CLOSED, OPEN, WORK };
chan buffer = [4] of { mtype, bit };

#define membarrier empty(buffer)

proctype store_buffer()
{
end_empty:
	do
	:: atomic { buffer?CLOSED(is_closed) }
	:: atomic { buffer?OPEN(is_open) }
	:: atomic { buffer?WORK(exit_work) }
	od
}

/* wf_sigqueue_take and similar functions take no lock if the queue is empty. */
inline take_if(condition)
{
	if
	:: !(pending && condition)
	:: pending && condition ->
	   atomic {
		!is_locked;
		if
		:: pending -> pending = 0; nr_taken++
		:: else
		fi
	   }
	fi
}

proctype slot()
{
	bit opens;

	/* wf_signal_thread_end */
	buffer!CLOSED(1);
#ifndef BUG_END_DOES_NOT_CHECK
	take_if(1);
#else
	skip;
#endif
	if
	:: goto end_unused
	:: skip
	fi;
	/* the next thread's init_fields */
	buffer!WORK(0);
	if
	:: opens = 0
	:: opens = 1
	fi;
	buffer!OPEN(opens);
#ifndef BUG_NEXT_DOES_NOT_CHECK
	take_if(1);
#endif
	buffer!CLOSED(0);
	/* The next thread begins. */
	membarrier;
	take_if(opens);
end_runs:
	do
	:: exit_work ->
	   exit_work = 0;
	   take_if(opens)
	od;
end_unused:
	skip
}

proctype sender()
{
	bit was_open, goes_on;

	if
	:: is_closed -> goes_on = 1 /* takes_signals */
	:: else ->
	   atomic { !is_locked -> is_locked = 1 };
	   if
	   :: is_closed -> goes_on = 1
	   :: else -> pending = 1
	   fi;
	   is_locked = 0
	fi;
	if
	:: goes_on -> nr_taken++ /* chooses another thread */
	:: else ->
	   was_open = is_open;
	   if
	   :: was_open ->
	      exit_work = 1;
#ifndef BUG_NO_BARRIER
	      membarrier;
#endif
#ifndef BUG_MASK_BEFORE_BARRIER
	      was_open = is_open
#endif
	   :: else
	   fi;
	   if
	   :: !was_open || is_closed -> take_if(1)
	   :: else
	   fi
	fi
}

init {
	atomic {
		run store_buffer();
		run slot();
		run sender()
	};
	timeout;
	assert(nr_taken == 1 && !pending)
}
