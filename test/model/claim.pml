/* SPDX-License-Identifier: MIT */
/*
 * Models src/sched/entry.h with src/thread/create.c, join.c and exit.c: one
 * slot, used by one thread after another. The entry of a thread that has not
 * run has NOT_STARTED and the generation. The VP that wins the CAS on the
 * slot's word `not_started` runs the thread, the loser drops its entry. A
 * joiner claims, too. Stale entries lie in the queue while the slot is used
 * again. A thread that has run is queued without NOT_STARTED and runs whenever
 * its entry is met.
 *
 * Holds: each generation is started once, runs in one place at a time and is
 * freed once; the slot is used again only after that.
 */
#define NR_GENERATIONS 3
#define NR_PICKERS 2

#define DETACHED 1
#define DONE 2

byte not_started;		/* generation, 0 when claimed */
byte exit_state;
chan queue = [NR_GENERATIONS + 2] of { bool, byte };

/* The true state, which no process of the model reads. */
byte generation;
bool is_used, is_running;
byte nr_started[NR_GENERATIONS + 1];

inline claim(g)
{
	d_step {
		is_mine = (not_started == g);
		if
		:: is_mine -> not_started = 0
		:: else
		fi
	}
}

inline free_slot()
{
	d_step {
		assert(is_used && !is_running);
		is_used = false
	}
}

inline begin_running()
{
	d_step {
		assert(is_used && !is_running);
		is_running = true
	}
}

inline start()
{
	begin_running();
	d_step {
		nr_started[generation]++;
		assert(nr_started[generation] == 1)
	}
}

/* The thread's bits of exit_state change by an atomic or. */
inline set_exit_state(what)
{
#ifdef BUG_PLAIN_OR
	old = exit_state;
	exit_state = old | what;
#else
	d_step {
		old = exit_state;
		exit_state = old | what
	};
#endif
}

/*
 * The thread runs until it yields or ends. The switch saves its context before
 * it is queued.
 */
inline go_on()
{
	if
	:: true ->
		is_running = false;
		queue!false, 0
	:: true ->
		is_running = false;
		set_exit_state(DONE);
		if
		:: (old & DETACHED) -> free_slot()
		:: else
		fi
	fi
}

active [NR_PICKERS] proctype picker()
{
	byte g, old;
	bool is_mine, is_not_started;

end_idle:
	do
	:: queue?is_not_started, g ->
#ifdef BUG_NO_BIT_IN_ENTRY
		/*
		 * Error: takes the slot's present generation for that of the
		 * entry.
		 */
		is_not_started = (not_started != 0);
		g = not_started;
#endif
		if
		:: is_not_started ->
			claim(g);
			if
			:: is_mine -> start()
			:: else -> goto dropped
			fi
		:: else -> begin_running()
		fi;
		go_on();
dropped:
		skip;
		d_step {
			g = 0;
			old = 0;
			is_mine = false;
			is_not_started = false
		}
	od
}

/* Creates one thread after another and joins or detaches each. */
active proctype creator()
{
	byte old;
	bool is_mine;

	do
	:: generation < NR_GENERATIONS ->
		d_step {
			assert(!is_used);
			is_used = true;
			generation++;
			exit_state = 0;
			not_started = generation
		};
		queue!true, generation;
		if
		:: true ->	/* join: runs it at once if it can */
			claim(generation);
			if
			:: is_mine ->
				start();
				go_on()
			:: else
			fi;
			(exit_state & DONE);
			free_slot()
		:: true ->
			set_exit_state(DETACHED);
			if
			:: (old & DONE) -> free_slot()
			:: else
			fi;
			!is_used
		fi;
		d_step {
			old = 0;
			is_mine = false
		}
	:: else -> break
	od;
	/* Every entry that is still queued is stale. */
	empty(queue);
	assert(nr_started[1] == 1 && nr_started[2] == 1 && nr_started[3] == 1);
	assert(!is_running)
}
