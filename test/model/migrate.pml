/* SPDX-License-Identifier: MIT */
/*
 * Models src/io/migrate.c: the owner of a VP moves one request, a receive that
 * the carrier before has handed over, which sleeps and may wake at any time.
 * Beside that somebody closes the number that the request's entry names, and
 * opens another file that gets it.
 *
 * Holds: what is sent is received once, from the file that the wait began on
 * (MIGRATE-2, MIGRATE-3), and the request does not get lost.
 */
#define WAITED_FOR 1
#define ANOTHER 2

#define ARMED 0
#define GIVEN_UP 1
#define DONE 2

byte number = WAITED_FOR;	/* which file it is */
bool is_use_over, is_moving;
byte old = ARMED;		/* the request as the old carrier has it */
bool is_pushed;			/* its new entry, not seen by the kernel yet */
byte of_entry;			/* the file of the entry; 0: no such request */
bool has_data = true;		/* the file waited for; so has the other */
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

/*
 * The carrier that had slept: the kernel completes the requests it has for it.
 */
active proctype sleeper()
{
#ifdef BUG_UNLOCKED
	/* As kernels do that look and receive without the ring's lock. */
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
