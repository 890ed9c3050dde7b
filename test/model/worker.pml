/* SPDX-License-Identifier: MIT */
/*
 * Models src/io/backend/worker.c, worker_run.c and supervisor.c. There are two
 * requests, each with its own I/O server, one supervisor for both, and a
 * carrier on which a thread computes.
 *
 * A requester sends a request, checks, and waits if its worker is not done. A
 * worker makes the call and reports it by one exchange. If that finds WAIT, the
 * worker tells the supervisor, or signals the carrier (SUPERVISOR-5); the
 * supervisor then checks once more later. A handler completes marked requests,
 * or asks the supervisor. Each worker may be killed once, between any two
 * steps; its request then gets a second worker.
 *
 * Holds: each request is completed once (WORKER-6). No requester waits without
 * end (WORKER-7, SUPERVISOR-1, SUPERVISOR-2). If the call is over when its
 * requester checks, no other thread is told.
 */
#define NR 2

#define YET 0
#define WAIT 1
#define COMPLETE 2

byte status[NR];
bool has_job[NR];		/* WORKER-2 */
bool is_there[NR];		/* tid != 0 */
bool is_dead[NR];		/* the kernel's mark in the owner word */
bool is_to_report[NR];
bool is_done[NR];		/* nr_done */
bool is_second[NR];
byte nr_completed[NR];
bool supervisor_word;		/* 1: there is nothing to check */
bool is_notified;			/* the carrier's flag */
/* the signal has been sent and has not arrived */
bool has_signal;

/* The worker's lock makes these one step. */
inline complete(i)
{
	nr_completed[i]++;
	has_job[i] = false;
	is_done[i] = true
}

inline finish(i)
{
	atomic {
		if
		:: has_job[i] && status[i] == COMPLETE -> complete(i)
		:: else
		fi
	}
}

inline see(i)
{
	atomic {
		if
		:: is_to_report[i] -> is_to_report[i] = false; finish(i)
		:: else
		fi
	}
}

inline report_to_supervisor()
{
#ifndef BUG_NOT_TOLD
	supervisor_word = false
#else
	skip
#endif
}

/*
 * The worker sets the carrier's flag by one exchange, then sends the signal
 * unless another worker has.
 */
inline tell_carrier()
{
	if
	:: atomic { !is_notified -> is_notified = true }; has_signal = true
	:: is_notified
	fi
}

proctype worker(byte i)
{
	bool is_reporting;

end:
	has_job[i];
#ifdef BUG_NO_EXCHANGE
	is_reporting = status[i] == WAIT;
	status[i] = COMPLETE;
#else
	atomic { is_reporting = (status[i] == WAIT); status[i] = COMPLETE };
#endif
	if
	:: is_reporting ->
		is_to_report[i] = true;
		if
		:: report_to_supervisor()
		:: tell_carrier();
			if
			:: !is_to_report[i]
#ifndef BUG_NO_SECOND_CHECK
			:: is_to_report[i] -> supervisor_word = false
#endif
			fi
		fi
	:: else
	fi
}

/*
 * Where it may not be preempted, the handler leaves the check to the
 * supervisor.
 */
active proctype handler()
{
end:
	has_signal -> has_signal = false;
	if
	:: is_notified -> is_notified = false
	:: else -> goto end
	fi;
	if
	:: see(0); see(1)
	:: supervisor_word = false
	fi;
	goto end
}

/* The steps of the kernel when a worker dies, in their order. */
inline die(i)
{
#ifdef BUG_CLEARED_BEFORE_MARKED
	supervisor_word = false;
	is_dead[i] = true
#else
	is_dead[i] = true;
	supervisor_word = false
#endif
}

/* A worker that is killed at any of its steps. */
proctype killed_worker(byte i)
{
	bool is_reporting;

	if
	:: has_job[i]
	:: goto dead
	fi;
	if
	:: atomic { is_reporting = (status[i] == WAIT); status[i] = COMPLETE }
	:: goto dead
	fi;
	if
	:: is_reporting -> is_to_report[i] = true
	:: goto dead
	fi;
	if
	:: supervisor_word = false
	:: atomic { !is_notified -> is_notified = true };
		if
		:: has_signal = true
		:: goto dead
		fi
	:: goto dead
	fi;
dead:
	die(i)
}

proctype requester(byte i)
{
	/* give_job */
	atomic { is_there[i]; status[i] = YET; has_job[i] = true };
	/* wf_worker_check */
	atomic {
		if
		:: has_job[i] && status[i] == YET && !is_second[i] ->
#ifndef BUG_NO_CHECK
			status[i] = WAIT
#else
			skip
#endif
		:: has_job[i] && status[i] == COMPLETE ->
			assert(is_second[i] || !is_to_report[i]);
			complete(i)
		:: else
		fi
	};
	is_done[i]
}

/* wf_worker_lose: another worker gets a job that is not complete. */
inline lose(i)
{
	atomic {
		is_there[i] = false;
		if
		:: has_job[i] && status[i] != COMPLETE ->
			is_second[i] = true;
			is_there[i] = true;
			is_dead[i] = false;
#ifdef BUG_SECOND_NOT_WAITED
			status[i] = YET;
#else
			status[i] = WAIT;
#endif
			run worker(i)
		:: has_job[i] && status[i] == COMPLETE ->
#ifndef BUG_COMPLETE_IS_LOST
			complete(i)
#else
			skip
#endif
		:: else ->
			/*
			 * There was no job; the next push starts another
			 * worker.
			 */
			is_there[i] = true;
			is_dead[i] = false;
			run worker(i)
		fi
	}
}

active proctype supervisor()
{
	byte i;

look:
#ifndef BUG_CHECKS_BEFORE
	supervisor_word = true;
#endif
	i = 0;
	do
	:: i < NR ->
		see(i);
		if
		:: is_dead[i] && is_there[i] -> lose(i)
		:: else
		fi;
		i++
	:: else -> break
	od;
#ifdef BUG_CHECKS_BEFORE
	supervisor_word = true;
#endif
end:
	!supervisor_word -> goto look
}

active proctype checker()
{
end:
	timeout ->
	assert(is_done[0] && is_done[1]);
	assert(nr_completed[0] == 1 && nr_completed[1] == 1)
}

init {
	atomic {
		is_there[0] = true;
		is_there[1] = true;
		if
		:: run worker(0)
		:: run killed_worker(0)
		fi;
		if
		:: run worker(1)
		:: run killed_worker(1)
		fi;
		run requester(0);
		run requester(1)
	}
}
