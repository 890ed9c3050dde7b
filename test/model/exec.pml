/* SPDX-License-Identifier: MIT */
/*
 * Models PREEMPT-4 and PREEMPT-5 of src/signal/preempt.c with
 * src/boot/setxid.c. There is one virtual processor. A first thread executes a
 * program, perhaps in vain, and a second one does so in vain at the same time.
 * A sender sends a preemption signal as a kick. Another thread changes
 * credentials, for which the carrier has to take a signal.
 *
 * The first thread may lose its VP before it executes, and while it does. It
 * needs the VP before it can continue: its waits are handed to the kernel and
 * taken back.
 *
 * Holds: no signal is pending for a program that was executed, nor sent to it
 * later. A kick that was not sent is made up for. No thread waits without end.
 */
byte nr_execs, nr_senders, nr_broadcasts;
bool is_vp_taken;

/* The first thread's carrier. */
bool is_signalled;
byte nr_pending;	/* in the kernel; 2 stands for more */
bool has_followed;
bool has_executed;

bool is_kick_due;
byte nr_going = 3;	/* all except the first thread */

#define take_vp() atomic { !is_vp_taken -> is_vp_taken = true }
#define give_vp() is_vp_taken = false

inline send()
{
	d_step {
		assert(!has_executed);
		nr_pending = (nr_pending < 2 -> nr_pending + 1 : 2)
	}
}

/* wf_preempt_signal to the first thread's carrier. */
inline signal_carrier(was, execs)
{
	d_step {
		was = is_signalled;
		is_signalled = true
	};
	if
	:: was
	:: else ->
#ifdef BUG_COUNTED_LATE
		execs = nr_execs;
		nr_senders++;
#else
		nr_senders++;
		execs = nr_execs;
#endif
		if
		:: execs != 0 -> is_signalled = false
		:: else -> send()
		fi;
		nr_senders--
	fi;
	d_step {
		was = false;
		execs = 0
	}
}

inline exec_end(was, execs, left)
{
	d_step {
		nr_execs--;
		left = nr_execs
	};
	if
	:: left == 0 ->
#ifndef BUG_NOT_MADE_UP
		is_signalled = false;
		signal_carrier(was, execs)
#else
		skip
#endif
	:: else
	fi;
	left = 0
}

/* A thread that returns from a system call has taken all its signals. */
#define nothing_is_on_its_way() (nr_pending == 0)

/* The monitor takes the VP of a thread that is long in a system call. */
inline may_lose_vp(is_lost)
{
	if
	:: !is_lost ->
		give_vp();
		is_lost = true
	:: true
	fi
}

inline need_vp(is_lost)
{
	if
	:: is_lost ->
		take_vp();
		is_lost = false
	:: else
	fi
}

/* The thread is parked while credentials change. */
inline be_kept_back(is_lost)
{
	need_vp(is_lost);
	give_vp();
	(nr_broadcasts == 0);
	take_vp()
}

active proctype executes()
{
	byte execs, left;
	bool was, is_lost;

	take_vp();
	may_lose_vp(is_lost);
again:
#ifdef BUG_CHECKED_FIRST
	if
	:: nr_broadcasts != 0 ->
		be_kept_back(is_lost);
		goto again
	:: else -> nr_execs++
	fi;
#else
	nr_execs++;
	if
	:: nr_broadcasts != 0 ->
		exec_end(was, execs, left);
		be_kept_back(is_lost);
		goto again
	:: else
	fi;
#endif
#ifdef BUG_MARKED_ONLY
	(!is_signalled);
#else
	(nr_senders == 0);
#endif
	nothing_is_on_its_way();
	may_lose_vp(is_lost);
	need_vp(is_lost);	/* needed again if exec has failed */
	if
	:: true ->
		atomic {
			has_executed = true;
			assert(nothing_is_on_its_way());
			nr_going = 0	/* exec ends the other threads */
		}
	:: true ->
		exec_end(was, execs, left);
		/* It computes until it is kicked. */
		give_vp();
		(!is_kick_due && nr_going == 0)
	fi
}

/* The handler, on the carrier's kernel thread. */
active proctype handler()
{
end_none:
	do
	:: d_step {
		nr_pending > 0 && !has_executed ->
		nr_pending--;
		has_followed = true;
		is_signalled = false;
		if
		:: nr_execs == 0 -> is_kick_due = false
		:: else
		fi }
	od
}

/* This thread tries to execute; no thread outlives a successful exec. */
active proctype executes_in_vain()
{
	byte execs, left;
	bool was;

	{
	do
	:: true ->
		nr_execs++;
		if
		:: nr_broadcasts == 0 -> break
		:: else -> exec_end(was, execs, left)
		fi;
		(nr_broadcasts == 0)
	od;
	exec_end(was, execs, left);
	nr_going--
	} unless { has_executed }
}

active proctype sender()
{
	byte execs;
	bool was;

	{
	is_kick_due = true;
	signal_carrier(was, execs);
	nr_going--
	} unless { has_executed }
}

active proctype changes()
{
	{
	take_vp();
	do
	:: true ->
		nr_broadcasts++;
		if
		:: nr_execs == 0 -> break
		:: else -> nr_broadcasts--
		fi;
#ifndef BUG_WITH_THE_VP
		give_vp();
#endif
		(nr_execs == 0);
#ifndef BUG_WITH_THE_VP
		take_vp()
#endif
	od;
	has_followed = false;
	send();
	has_followed;
	nr_broadcasts--;
	give_vp();
	nr_going--
	} unless { has_executed }
}
