/* SPDX-License-Identifier: MIT */
/*
 * weft: POSIX threads on lightweight user-level threads.
 *
 * A program needs nothing from this header to run on weft: `weft run PROGRAM`
 * takes it unmodified. The header is for programs that use weft's functions:
 *
 *     #include <weft/weft.h>
 *
 *     if (weft_is_active())
 *             printf("on weft %s\n", weft_version());
 *
 * Link with `pkg-config --libs weft`: the program then always runs on weft,
 * without the weft command, and takes its options from the WEFT_* variables.
 *
 * Link with `pkg-config --libs weft-api` if the program may run with weft or
 * without. Without weft these functions work by themselves: they poll for a
 * while, then sleep in the kernel.
 *
 * Functions that can fail return 0 or a number of errno.h, and do not change
 * errno. On failure they store nothing by pointer.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The <time.h> of plain C99 lacks this structure. */
struct timespec;

/* The version of this header. */
#define WEFT_VERSION "0.2.0"

/*
 * The version of the running library, as "MAJOR.MINOR.PATCH". Never fails,
 * never blocks, may be called in a signal handler. The string is constant.
 */
const char *weft_version(void);

/*
 * 1 if weft runs this process's threads, from the first pthread_create on. 0
 * before, and in a process in which weft cannot work. Never blocks, may be
 * called in a signal handler.
 */
int weft_is_active(void);

/*
 * Wait words: memory that changes from outside the scheduler, by another
 * process, a device, or a ring of the kernel.
 *
 *     err = weft_word_wait_until(&shared->seq, sizeof(shared->seq),
 *                                UINT32_MAX, seen, NULL);
 *
 * parks the thread until shared->seq differs from `seen`. A virtual processor
 * (VP) that has no thread to run checks the words of all waiting threads, and
 * switches directly to the thread with a changed word. While all VPs are busy
 * or asleep, each word is checked at least once in 1 ms, unless its writers
 * ring. If all VPs have slept for 1 s or more, it is once in 16 ms. Before
 * that, the interval is 1/64 of the time since anything happened.
 *
 * A word is 1, 2, 4 or 8 bytes of ordinary memory at an address that is a
 * multiple of its size. Flags are or'ed to the size.
 */
enum {
	/* Each writer calls weft_word_ring after each change. The word is not
	 * checked while all VPs are busy or asleep. */
	WEFT_WORD_RUNG = 0x100,
	/*
	 * Waits only while a VP polls. EAGAIN when the last VP is about to
	 * sleep, or all are busy for long. For callers that can then wait in
	 * another way.
	 */
	WEFT_WORD_POLLED = 0x200
};

/*
 * Waits until (word & mask) != old, at most until the deadline. That is an
 * absolute time of CLOCK_MONOTONIC; NULL means no deadline. Writes before the
 * change that ended the wait are visible. A change that is undone before the
 * word is checked may be missed.
 *
 * 0           (word & mask) != old
 * ETIMEDOUT   the deadline has passed; a changed word takes precedence
 * EFAULT      the memory at addr is not readable, or no longer
 * EINVAL      an invalid size or flag, a misaligned address, or an invalid
 *             deadline
 * EAGAIN      WEFT_WORD_POLLED, and no VP polls
 * ENOMEM      too many threads wait for too many words
 *
 * A cancellation point. Signal handlers run during the wait, which then
 * continues. Not in a signal handler.
 */
int weft_word_wait_until(const volatile void *addr, size_t size, uint64_t mask,
			 uint64_t old, const struct timespec *deadline);

/* One of several words to wait for. */
struct weft_word {
	const volatile void *addr;
	size_t size; /* the word's size, or'ed with flags */
	uint64_t mask, old;
};

/*
 * Waits in the same way for nr words, 1 to WEFT_WORDS_MAX, until one of them
 * has changed. Stores the index of the first changed word in *ret_index, which
 * may be NULL; with EFAULT the index of the faulting word. If one word has
 * WEFT_WORD_POLLED, that applies to all.
 */
enum { WEFT_WORDS_MAX = 1024 };
int weft_word_wait_any_until(const struct weft_word *words, size_t nr,
			     size_t *ret_index,
			     const struct timespec *deadline);

/*
 * Allocates a word of 4 bytes in an array of such words, which a VP checks many
 * at a time. A word anywhere else costs it about 1 ns. NULL if there is no
 * memory. No thread may wait for a word that is freed. Never blocks; not in a
 * signal handler. weft_word_free does nothing with NULL.
 */
uint32_t *weft_word_new(uint32_t value);
void weft_word_free(uint32_t *word);

/*
 * The doorbell: the caller has changed the word at addr. Wakes the threads of
 * this process that wait for it and find it changed, also if all VPs sleep.
 * Costs little if no thread waits. May be called in a signal handler and by
 * threads that weft did not make; never blocks.
 */
void weft_word_ring(const volatile void *addr);

/* The behaviour of a VP that has no thread to run. */
enum weft_agent_policy {
	WEFT_AGENT_ADAPTIVE = 0, /* polls as long as that has paid */
	WEFT_AGENT_POLL = 1,	 /* always polls: lowest latency */
	WEFT_AGENT_PARK = 2	 /* sleeps at once: lowest power */
};

/*
 * Sets the policy, as --wait, and how many VPs may poll at a time, as --agents;
 * the other idle VPs sleep. The number is from 1 to that of the VPs; 0 is the
 * same as WEFT_AGENT_PARK. EINVAL otherwise, ENOTSUP without weft, ENOMEM if
 * the runtime cannot start. Never blocks.
 */
int weft_agent_set(enum weft_agent_policy policy, unsigned int agents);

/*
 * Tells weft that the caller is about to block where weft does not notice it:
 * in an ioctl, or in its own system call. weft then gives the VP to other
 * threads at once. This holds until weft_block_end, or until the caller's next
 * call of a function that weft replaces. Neither fails. Not in a signal
 * handler.
 */
void weft_block_begin(void);
void weft_block_end(void);

/* Counters since the runtime started, summed over all VPs. */
struct weft_stats {
	uint64_t threads;     /* created */
	uint64_t switches;    /* between threads */
	uint64_t parks;	      /* waits that parked */
	uint64_t preemptions; /* of threads that computed */
	uint64_t handoffs;    /* VPs taken from blocked kernel threads */
	uint64_t polls;	      /* idle VPs that began to poll */
	uint64_t poll_hits;   /* polls that found work */
	uint64_t poll_ns;     /* time spent polling */
	uint64_t hand_overs;  /* pollers that woke another VP */
	uint64_t sleeps;      /* VPs that went to sleep */
	uint64_t wakes;	      /* sleeping VPs woken */
	uint64_t word_waits;  /* waits for words in which the thread parked */
	uint64_t word_hits;   /* of these, the waits that a poll ended */
	uint64_t word_rings;  /* and those that a doorbell ended */
	uint64_t steals;      /* threads taken from another VP */
	uint64_t preemptions_cooperative; /* threads that yielded when asked */
	uint64_t refusals;		  /* preemptions postponed */
	/* threads that got a kernel thread of their own */
	uint64_t binds;
	/* waits that became requests to io_uring */
	uint64_t requests;
	/* calls made by I/O workers */
	uint64_t served;
};

/*
 * Fills the first `size` bytes of *stats; pass sizeof(struct weft_stats). An
 * older library sets the counters that it does not have to 0. All are 0 before
 * the first pthread_create, and without weft. Never blocks, may be called in a
 * signal handler.
 */
void weft_stats(struct weft_stats *stats, size_t size);

/*
 * A thread of the process. The words are constant strings, the same that
 * `weft threads` prints.
 */
struct weft_thread {
	pthread_t thread;
	int tid; /* as gettid returns it in the thread */
	char name[16];
	/* "running", "runnable", "parked", "new" (it has not begun yet) or
	 * "exited" (it waits to be joined) */
	const char *state;
	/* "mutex", "condition", "io", ...; NULL if it does not wait in weft */
	const char *waits_for;
	/* Why it has a kernel thread of its own: "asked", "affinity", ...;
	 * NULL if it has none. */
	const char *bound_why;
};

/*
 * Lists the threads: fills the first `nr` elements of threads[], which have
 * `size` bytes each; pass sizeof(struct weft_thread). An older library sets
 * what it does not have to 0. Returns the number of threads, which may be
 * larger than nr. Returns 0 before the first pthread_create, and without weft.
 * A thread of weft's own, "weft reaper", may be among them: it gives memory
 * back after many threads have ended.
 *
 *     nr = weft_thread_list(threads, MOST, sizeof(threads[0]));
 *
 * The threads go on meanwhile: each element belongs to one moment, but not all
 * of them to the same. Never blocks, may be called in a signal handler.
 */
size_t weft_thread_list(struct weft_thread *threads, size_t nr, size_t size);

/*
 * Gives a thread a kernel thread of its own, which it keeps until it ends: the
 * kernel schedules it from then on. For threads that use what the kernel keeps
 * for a kernel thread, or that a debugger or profiler of the kernel's has to
 * see. The caller is bound when the call returns, another thread before it next
 * runs its own code. Does nothing more to a bound thread.
 *
 * 0         it is bound, or will be
 * EAGAIN    the kernel makes no more threads
 * ENOMEM    the runtime cannot start
 * ENOTSUP   without weft: each thread has a kernel thread of its own then
 * ESRCH     no such thread of weft's, or it has ended
 *
 * Not in a signal handler.
 */
int weft_thread_bind(pthread_t thread);

#ifdef __cplusplus
}
#endif

#endif
