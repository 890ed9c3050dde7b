/* SPDX-License-Identifier: MIT */
/*
 * Models the protocol by which the monitor takes a VP from a carrier that
 * sleeps in the kernel: src/sched/runtime.h and .c, switch.c, carrier.c,
 * src/monitor/handoff.c. Two VPs, two threads that may move between them, three
 * carriers of which one is a spare at the start.
 *
 * Plain stores of a carrier go through a store buffer, first in first out, as
 * on x86; a locked instruction waits until it is empty, a membarrier until each
 * was empty once. So in_runtime = 1 may become visible after the load of
 * retake, and the entry still costs no fence.
 *
 * Holds: at any time each VP has one owner, and only its owner acts as such.
 */
#define NONE 255
#define MONITOR 254
#define NR_VPS 2
#define NR_CARRIERS 3
#define NR_THREADS 2

/* retake */
#define FREE 0
#define ASK 1
#define TAKEN 2

/* The stores that a store buffer holds. */
mtype = { IN_RUNTIME, CUR, PUSH };
/* Two are enough to hold a store back behind later loads. */
chan buffer[NR_CARRIERS] = [2] of { mtype, byte, byte };

byte in_runtime[NR_THREADS];
byte retake[NR_THREADS];
byte cur[NR_VPS];
chan runq = [NR_THREADS] of { byte };
chan spares = [NR_CARRIERS] of { byte };
chan given[NR_CARRIERS] = [1] of { byte };

/* The true state, which no carrier reads. */
byte owner[NR_VPS];
bool is_running[NR_THREADS];

#define locked_instruction empty(buffer[c])

proctype store_buffer(byte c)
{
	mtype kind;
	byte where, value;

end_empty:
	do
	:: atomic {
		buffer[c]?kind, where, value ->
		if
		:: kind == IN_RUNTIME -> in_runtime[where] = value
		:: kind == CUR -> cur[where] = value
		:: kind == PUSH -> runq!where
		fi;
		kind = 0;
		where = 0;
		value = 0
	   }
	od
}

/* wf_runtime_enter: is_kept says whether the carrier still has the VP. */
inline enter()
{
	buffer[c]!IN_RUNTIME, t, 1;
	do
	:: retake[t] == FREE ->
		is_kept = true;
		break
	:: retake[t] == TAKEN ->
		is_kept = false;
		break
#ifdef BUG_PLAIN_STORE_IN_ENTRY
	:: retake[t] == ASK ->
		retake[t] = FREE
#elif defined(BUG_TWO_LOADS)
	:: retake[t] != FREE ->
		/* the second load may see ASK again */
		is_kept = (retake[t] == FREE);
		break
#else
	:: retake[t] == ASK ->
		locked_instruction;
		d_step {
			if
			:: retake[t] == ASK -> retake[t] = FREE
			:: else
			fi
		}
#endif
	od
}

/* Taking from a queue is a locked instruction. */
#define take_next() empty(buffer[c]) && nempty(runq) -> runq?n

inline make_current(next)
{
	assert(owner[vp] == c);
	buffer[c]!CUR, vp, next
}

/* The context of t is saved: others may run it. */
inline push_current()
{
	is_running[t] = false;
	buffer[c]!PUSH, t, 0;
	t = NONE
}

inline run_next()
{
	t = n;
	n = 0;
	assert(!is_running[t] && owner[vp] == c);
	is_running[t] = true;
	buffer[c]!IN_RUNTIME, t, 0	/* wf_runtime_leave */
}

proctype carrier(byte c, vp, t)
{
	byte n;
	bool is_kept;

end_forever:
	do
	:: t != NONE ->		/* its thread runs the program's code */
		enter();
		if
		:: is_kept ->
			assert(owner[vp] == c);
			if
			:: buffer[c]!IN_RUNTIME, t, 0
			:: atomic {		/* park: to another thread */
				take_next();
				make_current(n);
				push_current();
				run_next()
			   }
			:: atomic {	/* park: to the carrier's own stack */
				make_current(NONE);
				push_current()
			   }
			fi
		:: else -> atomic {
			assert(owner[vp] != c);
			vp = NONE;
			locked_instruction;	/* of the queue's lock */
			retake[t] = FREE;
			is_running[t] = false;
			runq!t;
			t = NONE
		   }
		fi;
		is_kept = false
	:: t == NONE && vp != NONE -> atomic {
		take_next();
		make_current(n);
		run_next()
	   }
	:: t == NONE && vp == NONE ->
		spares!c;
		given[c]?vp
	od
}

inline membarrier()
{
#ifndef BUG_NO_MEMBARRIER
	empty(buffer[0]);
	empty(buffer[1]);
	empty(buffer[2]);
#endif
	skip
}

/* Only the monitor takes spares, checks cur and hands VPs over. */
inline take_and_hand_over()
{
	retake[t] = TAKEN;
	assert(owner[v] != MONITOR);
	owner[v] = MONITOR;
	spares?c;
	cur[v] = NONE;
	owner[v] = c;
	given[c]!v
}

active proctype monitor()
{
	byte v, t, c;
	bool is_same;

end_forever:
	do
	:: atomic {
		nempty(spares) ->
		if
		:: v = 0
		:: v = 1
		fi;
		t = cur[v]
	   };
		atomic {
			if
			:: t != NONE && retake[t] == FREE -> retake[t] = ASK
			:: else -> goto next
			fi
		};
		membarrier();
#ifdef BUG_CUR_READ_FIRST
		is_same = (cur[v] == t);
		if
		:: in_runtime[t] != 0 -> goto no
		:: else
		fi;
#else
		if
		:: in_runtime[t] != 0 -> goto no
		:: else
		fi;
		is_same = (cur[v] == t);
#endif
		if
		:: !is_same -> goto no
#ifdef BUG_PLAIN_STORE_IN_MONITOR
		:: is_same && retake[t] == ASK ->
			atomic { take_and_hand_over() }
#else
		:: atomic {
			is_same && retake[t] == ASK ->
			take_and_hand_over()
		   }
#endif
		:: is_same && retake[t] != ASK -> skip
		fi;
		goto next;
no:
		skip;
		d_step {
			if
			:: retake[t] == ASK -> retake[t] = FREE
			:: else
			fi
		};
next:
		skip;
		d_step {
			t = 0;
			c = 0;
			v = 0;
			is_same = false
		}
	od
}

init {
	atomic {
		/* Thread 0 runs on VP 0; VP 1 is idle; thread 1 is queued. */
		cur[0] = 0;
		cur[1] = NONE;
		owner[0] = 0;
		owner[1] = 1;
		is_running[0] = true;
		in_runtime[1] = 1;
		runq!1;
		run store_buffer(0);
		run store_buffer(1);
		run store_buffer(2);
		run carrier(0, 0, 0);
		run carrier(1, 1, NONE);
		run carrier(2, NONE, NONE)
	}
}
