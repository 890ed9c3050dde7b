/* SPDX-License-Identifier: MIT */
/*
 * Models the robust mutexes of src/sync/shared.c. Two threads lock mutexes that
 * another process shares, and unlock, unmap or leave them behind. At some
 * moment their process dies or continues. The kernel then walks the list of the
 * kernel thread that answers for all threads, and looks at its pending entry.
 * Each step on a word or a link is one atomic step; a process that dies stops
 * between any two of them.
 *
 * Left out: waiting, and libc's wait on a condition, during which SHARED-1 does
 * not hold.
 *
 * Holds: when the process has died, no mutex that it held and did not unmap has
 * the answering thread's id (SHARED-1). No walk follows a link to unmapped
 * memory (SHARED-4). The other process keeps the mutexes that it has locked,
 * and their links.
 */
#define NR_MUTEXES 2
#define NR_THREADS 2
#define HEAD NR_MUTEXES
#define NIL 3
#define FOREIGN 4		/* a link in the other process's list */

#define FREE 0
#define ANSWERING 1
#define OTHER 2
#define DIED 3
#define OWN 4			/* a number that the kernel does not know */

#define NOBODY 255

#ifdef BUG_OWN_NUMBER
#define OURS OWN
#else
#define OURS ANSWERING
#endif

byte word[NR_MUTEXES];
byte holder[NR_MUTEXES] = NOBODY;
byte next[NR_MUTEXES + 1] = NIL;
byte prev[NR_MUTEXES + 1] = NIL;
bool leaves[NR_MUTEXES];	/* will be unmapped, so it stays locked */
bool gone[NR_MUTEXES];
byte pending = NIL;
bool locked;			/* `lock` */
bool dead, is_walked;
byte nr_ended;

#define step(s) \
	atomic { if :: dead -> goto stop :: else fi; s }
#define is_there(m) (m == HEAD || (m < HEAD && !gone[m]))

#ifdef BUG_NO_LOCK
#define lock() skip
#else
#define lock() \
	atomic { (dead || !locked); if :: dead -> goto stop :: else fi; \
		 locked = true }
#endif
#define unlock() step(locked = false)

#ifdef BUG_NOT_PENDING
#define set_pending(m) skip
#else
#define set_pending(m) step(pending = m)
#endif

inline insert(m, n)
{
	step(prev[m] = HEAD);
	step(n = next[HEAD]);
#ifdef BUG_LINKED_EARLY
	step(next[HEAD] = m);
	step(next[m] = n);
#else
	step(next[m] = n);
#endif
	step(assert(is_there(n)); prev[n] = m);
#ifndef BUG_LINKED_EARLY
	step(next[HEAD] = m);
#endif
}

inline take_out(m, p, n)
{
	step(p = prev[m]; n = next[m]);
	if
	:: n != NIL ->
		step(assert(is_there(n)); prev[n] = p);
		step(assert(is_there(p)); next[p] = n);
		step(prev[m] = NIL; next[m] = NIL)
	:: else
	fi
}

proctype thread(byte me)
{
	byte m, p, n;
	bool has_it;

	if
	:: m = 0
	:: m = 1
	fi;
	lock();
	step(if :: gone[m] -> goto give_up :: else fi);
	set_pending(m);
	atomic {
		if
		:: dead -> goto stop
		:: else
		fi;
		if
		:: word[m] == FREE || word[m] == DIED ->
			word[m] = OURS;
			has_it = true
		:: else
		fi
	};
	if
	:: has_it ->
		step(holder[m] = me);
#ifdef BUG_PENDING_SHORT
		set_pending(NIL);
#endif
		insert(m, n)
	:: else
	fi;
	set_pending(NIL);
	unlock();
	if
	:: !has_it -> goto ended
	:: has_it
	fi;

	if
	:: /* pthread_mutex_unlock */
		lock();
		step(holder[m] = NOBODY);
		set_pending(m);
#ifdef BUG_FREED_EARLY
		step(word[m] = FREE);
		take_out(m, p, n);
#else
		take_out(m, p, n);
		step(word[m] = FREE);
#endif
		set_pending(NIL);
		unlock()
	:: /* munmap, even while another thread holds the mutex */
		if
		:: m = 0
		:: m = 1
		fi;
#ifndef BUG_KEPT
		lock();
		step(p = next[HEAD]);
		do
		:: step(if :: p == m || p == HEAD -> break
			   :: else -> assert(is_there(p)); p = next[p] fi)
		od;
		if
		:: p == m -> step(leaves[m] = true); take_out(m, p, n)
		:: else
		fi;
		/* A thread does not use memory that it unmaps. */
		step(leaves[m] = true; gone[m] = true; holder[m] = NOBODY);
		unlock()
#else
		lock();
		step(leaves[m] = true; gone[m] = true; holder[m] = NOBODY);
		unlock()
#endif
	:: /* the thread ends */
		lock();
		step(if :: holder[m] != me -> goto give_up :: else fi);
#ifdef BUG_FOUND_BEFORE
		unlock();
		lock();
#endif
		step(assert(!gone[m]); holder[m] = NOBODY);
		set_pending(m);
		take_out(m, p, n);
		step(word[m] = DIED);
		set_pending(NIL);
		unlock()
	fi;
	goto ended;
give_up:
	unlock();
ended:
	step(nr_ended++);
stop:
	skip
}

/* Another process, which continues. */
proctype other()
{
	byte m;

	if
	:: m = 0
	:: m = 1
	fi;
	atomic {
		if
		:: word[m] == FREE || word[m] == DIED -> word[m] = OTHER
		:: else -> goto done
		fi
	};
	atomic { next[m] = FOREIGN; prev[m] = FOREIGN };
	atomic {
		assert(next[m] == FOREIGN && prev[m] == FOREIGN);
		next[m] = NIL;
		prev[m] = NIL
	};
	atomic { assert(word[m] == OTHER); word[m] = FREE };
done:
	skip
}

inline end_by_kernel(m)
{
	atomic {
		if
		:: m < HEAD && !gone[m] && word[m] == ANSWERING ->
			word[m] = DIED
		:: else
		fi
	}
}

/* The kernel, when the answering thread exits. */
proctype exit()
{
	byte e, n, nr;

	if
	:: atomic { !dead -> dead = true }
	:: nr_ended == NR_THREADS -> dead = true
	fi;
	e = next[HEAD];
	do
	:: e == HEAD || !is_there(e) || nr > NR_MUTEXES -> break
	:: else ->
		n = next[e];
		if
		:: e != pending -> end_by_kernel(e)
		:: else
		fi;
		e = n;
		nr++
	od;
	end_by_kernel(pending);
	is_walked = true;
	assert(leaves[0] || word[0] != OURS);
	assert(leaves[1] || word[1] != OURS)
}

init {
	atomic {
		next[HEAD] = HEAD;
		prev[HEAD] = HEAD;
		run thread(0);
		run thread(1);
		run other();
		run exit()
	}
}
