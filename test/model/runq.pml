/* SPDX-License-Identifier: MIT */
/*
 * Models src/sched/runq.c: the owner pushes at both ends and pops, two thieves
 * pop or take half, on a queue of two. Every access is a step of its own.
 *
 * Holds: RUNQ-1 (head <= tail <= head + SIZE); each pushed entry comes out
 * once.
 */
#define SIZE 2
#define MASK 1
#define NR_ENTRIES 3	/* the first entry is in the queue at the start */
#define OWNER_OPS 3

byte head = 4;	/* not 0, so that push_head finds room below */
byte version;
byte tail = 5;
byte slot[SIZE] = 1;

byte next_entry = 2;
byte nr_out[NR_ENTRIES + 1];
byte nr_running;

inline come_out(e)
{
	d_step {
		nr_out[e]++;
		assert(e != 0 && nr_out[e] == 1)
	}
}

inline load_head()
{
	d_step {
		h = head;
		v = version
	}
}

/* Compares and swaps the head; on failure h and v get the present values. */
inline cas_head(to)
{
	d_step {
		if
#ifdef BUG_NO_VERSION
		:: head == h ->
#else
		:: head == h && version == v ->
#endif
			head = to;
			version++;
			ok = true;
			assert(head <= tail && tail <= head + SIZE)
		:: else ->
			h = head;
			v = version;
			ok = false
		fi
	}
}

/* e becomes 0 if the queue is empty. */
inline pop()
{
	load_head();
	do
	:: tail == h ->
		e = 0;
		break
	:: else ->
#ifdef BUG_READ_AFTER_CAS
		cas_head(h + 1);
		e = slot[h & MASK];
#else
		e = slot[h & MASK];
		cas_head(h + 1);
#endif
		if
		:: ok -> break
		:: else
		fi
	od
}

/* Takes at most two; nr says how many. */
inline take_half()
{
	load_head();
	do
	:: true ->
		d_step {
			nr = (tail - h + 1) / 2;
			if
			:: nr > 2 -> nr = 2
			:: else
			fi
		}
		if
		:: nr == 0 -> break
		:: else
		fi;
		e = slot[h & MASK];
		if
		:: nr == 2 -> e2 = slot[(h + 1) & MASK]
		:: else
		fi;
		cas_head(h + nr);
		if
		:: ok -> break
		:: else
		fi
	od
}

inline push_tail(entry)
{
	load_head();
	if
	:: tail - h == SIZE ->
		ok = false
	:: else ->
		slot[tail & MASK] = entry;
		d_step {
			tail++;
			ok = true;
			assert(tail <= head + SIZE)
		}
	fi
}

inline push_head(entry)
{
	load_head();
	do
	:: tail - h == SIZE ->
		ok = false;
		break
	:: else ->
		slot[(h - 1) & MASK] = entry;
		cas_head(h - 1);
		if
		:: ok -> break
		:: else
		fi
	od
}

proctype owner()
{
	byte h, v, e, ops = OWNER_OPS;
	bool ok, at_head;

	do
	:: ops > 0 ->
		atomic {
			ops--;
			at_head = false;
			if
			:: next_entry <= NR_ENTRIES ->
				e = next_entry;
				next_entry++;
				goto put
			:: next_entry <= NR_ENTRIES ->
				e = next_entry;
				next_entry++;
				at_head = true;
				goto put
			:: true
			fi
		};
		pop();
		if
		:: e != 0 -> come_out(e); goto done
		/* preempted, so it goes back to the front */
		:: e != 0 -> at_head = true
		:: else -> goto done
		fi;
put:
		if
		:: at_head -> push_head(e)
		:: else -> push_tail(e)
		fi;
		if
		:: ok -> skip
		:: else -> come_out(e)	/* full, so it goes to another queue */
		fi;
done:
		skip;
		d_step {
			h = 0;
			v = 0;
			e = 0;
			ok = false
		}
	:: ops == 0 -> break
	od;
	nr_running--
}

proctype thief()
{
	byte h, v, e, e2, nr;
	bool ok;

	if
	:: pop();
		if
		:: e != 0 -> come_out(e)
		:: else
		fi
	:: take_half();
		if
		:: nr > 0 -> come_out(e)
		:: else
		fi;
		if
		:: nr == 2 -> come_out(e2)
		:: else
		fi
	fi;
	d_step {
		h = 0;
		v = 0;
		e = 0;
		e2 = 0;
		nr = 0;
		ok = false;
		nr_running--
	}
}

init {
	byte i;

	atomic {
		nr_running = 3;
		run owner();
		run thief();
		run thief()
	}
	nr_running == 0;
	d_step {
		do
		:: head != tail ->
			nr_out[slot[head & MASK]]++;
			head++
		:: else -> break
		od;
		i = 1;
		do
		:: i < next_entry ->
			assert(nr_out[i] == 1);
			i++
		:: else -> break
		od
	}
}
