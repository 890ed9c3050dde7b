/* SPDX-License-Identifier: MIT */
/*
 * Models src/io/backend/migrate.c. The owner of a VP migrates one request, a
 * receive that its former carrier has handed over. That carrier sleeps and may
 * wake at any time. Meanwhile a thread closes the number in the request's
 * entry, and opens another file that gets the number.
 *
 * Holds: each byte is received once, from the file on which the wait began
 * (MIGRATE-2, MIGRATE-3), and the request does not get lost.
 */
#define WAITED_FOR 1
#define ANOTHER 2

#define ARMED 0
#define GIVEN_UP 1
#define DONE 2

byte number = WAITED_FOR;	/* the file that has the number */
bool is_use_over, is_moving;
byte old = ARMED;		/* the old carrier's state of the request */
/* has a new entry that the kernel has not seen */
bool is_pushed;
byte of_entry;			/* the entry's file; 0: no such request */
/* of the file that is waited for; the other file has data, too */
bool has_data = true;
byte nr_received;

inline submit() {
	atomic {
		if
		:: is_pushed ->
			is_pushed = false;
			of_entry = number
		:: else
		fi
	}
}

inline receive() {
	assert(has_data);
	has_data = false;
	nr_received++
}

active proctype owner()
{
	bool is_over, may_push;

#ifdef BUG_CHECKS_FIRST
	is_over = is_use_over;
	is_moving = true;
#else
	is_moving = true;
	is_over = is_use_over;
#endif
	if
	:: !is_over ->
		atomic {
			may_push = old == ARMED;
			if
			:: may_push -> old = GIVEN_UP
			:: else
			fi
		}
		if
		:: may_push -> is_pushed = true
		:: else
		fi
	:: else
	fi;
	is_moving = false;
	submit()
}

active proctype closer()
{
	is_use_over = true;
#ifndef BUG_NO_WAIT
	!is_moving;
#endif
	submit();
	number = ANOTHER
}

/* When the old carrier wakes, the kernel completes its requests. */
active proctype sleeper()
{
#ifdef BUG_UNLOCKED
	/* Some kernels check and receive without the ring's lock. */
	if
	:: old == ARMED ->
		atomic {
			receive();
			old = DONE
		}
	:: old == GIVEN_UP
	fi
#else
	atomic {
		if
		:: old == ARMED ->
			receive();
			old = DONE
		:: old == GIVEN_UP
		fi
	}
#endif
}

active proctype moved()
{
	if
	:: of_entry != 0 ->
		assert(of_entry == WAITED_FOR);
		receive()
	:: old == DONE
	fi;
	assert(nr_received == 1)
}
