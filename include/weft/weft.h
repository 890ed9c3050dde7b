/* SPDX-License-Identifier: MIT */
/*
 * weft: POSIX threads on lightweight user-level threads.
 *
 * A program needs nothing from this header to run on weft: `weft run PROGRAM`
 * takes it as it is. The header is for programs that want to know:
 *
 *     #include <weft/weft.h>
 *
 *     if (weft_is_active())
 *             printf("on weft %s\n", weft_version());
 *
 * Link with `pkg-config --libs weft`; a program so linked runs on weft without
 * the weft command and takes its options from the WEFT_* variables.
 *
 * Link with `pkg-config --libs weft-api` to use the functions of this header
 * in a program that may run with weft or without. Without, they do what they
 * say by themselves: they poll for a while, then sleep in the kernel.
 *
 * Functions that can fail return 0 or a number of errno.h, and leave errno
 * alone; what they return by pointer is untouched then.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The <time.h> of plain C99 has none. */
struct timespec;

/* The version of this header. */
#define WEFT_VERSION "0.2.0"

/*
 * The version of the library that runs, as "MAJOR.MINOR.PATCH". Never fails,
 * never blocks, may be called in a signal handler. The string is constant.
 */
const char *weft_version(void);

/*
 * 1 once weft runs this process's threads, which is from the first
 * pthread_create on; 0 before, and in a process where it found that it cannot.
 * Never blocks, may be called in a signal handler.
 */
int weft_is_active(void);

/*
 * Wait words: memory that something outside the scheduler changes: another
 * process, a device, a ring of the kernel's.
 *
 *     err = weft_word_wait_until(&shared->seq, sizeof(shared->seq),
 *                                UINT32_MAX, seen, NULL);
 *
 * parks the thread until shared->seq is not `seen` any more. A VP that has
 * nothing to run looks at the words of all waiting threads, and switches
 * straight to the one whose word has changed. While all VPs sleep or are busy,
 * each word is looked at at least once a millisecond, unless its writers have
 * promised to ring. When all have slept for a second or more it is once in 16
 * milliseconds; between, after a 64th of the time that nothing has happened.
 *
 * A word is 1, 2, 4 or 8 bytes of ordinary memory at an address that is a
 * multiple of its size. Flags are or'ed to the size.
 */
enum {
	/* Each writer calls weft_word_ring after each change: nobody looks at
	 * the word while all VPs sleep or are busy. */
	WEFT_WORD_RUNG = 0x100,
	/* Only as long as a VP polls: EAGAIN when the last one is about to
	 * sleep, or all are busy for long. For waits that go on elsewhere. */
	WEFT_WORD_POLLED = 0x200
};

/*
 * Waits until (word & mask) != old, at most until the deadline, an absolute
 * time of CLOCK_MONOTONIC; NULL is for ever. What was written before the
 * change that ended the wait is visible. A change that was taken back before
 * anybody looked may be missed.
 *
 * 0           (word & mask) != old
 * ETIMEDOUT   the deadline has passed; a word that has changed comes first
 * EFAULT      there is no readable memory at addr, or is none any more
 * EINVAL      a size that is none, an address that is no multiple of it, a
 *             flag that is none, a deadline that is no time
 * EAGAIN      WEFT_WORD_POLLED, and nobody polls
 * ENOMEM      too many threads wait for too many words
 *
 * A cancellation point. Handlers of signals run meanwhile, and the wait goes
 * on. Not in a signal handler.
 */
int weft_word_wait_until(const volatile void *addr, size_t size, uint64_t mask,
			 uint64_t old, const struct timespec *deadline);

/* One of several words to wait for. */
struct weft_word {
	const volatile void *addr;
	size_t size; /* and flags */
	uint64_t mask, old;
};

/*
 * The same for nr words, 1 to WEFT_WORDS_MAX: waits until one has changed. Its
 * number is stored in *ret_index, which may be NULL; that of the first, if
 * several have, and with EFAULT that of the one at fault. One with
 * WEFT_WORD_POLLED makes all of them so.
 */
enum { WEFT_WORDS_MAX = 1024 };
int weft_word_wait_any_until(const struct weft_word *words, size_t nr,
			     size_t *ret_index,
			     const struct timespec *deadline);

/*
 * A word of 4 bytes among others like it, in arrays that are looked through
 * many at a time; words anywhere else cost about a nanosecond each. NULL if
 * there is no memory. Nobody may wait for a word that is freed. Never blocks;
 * not in a signal handler. Free does nothing with NULL.
 */
uint32_t *weft_word_new(uint32_t value);
void weft_word_free(uint32_t *word);

/*
 * The doorbell: the word at addr has been changed by the caller. Wakes those
 * threads of this process that wait for it and find it changed, also if all
 * VPs sleep. Costs little if nobody waits. May be called in a signal handler
 * and by threads that weft did not make; never blocks.
 */
void weft_word_ring(const volatile void *addr);

/* What a VP does that has nothing to run. */
enum weft_agent_policy {
	WEFT_AGENT_ADAPTIVE = 0, /* polls as long as that has paid */
	WEFT_AGENT_POLL = 1,	 /* polls always: lowest latency */
	WEFT_AGENT_PARK = 2	 /* sleeps at once: lowest power */
};

/*
 * Changes the policy, as --wait, and how many VPs may poll at a time, as
 * --agents; the others sleep. The number is from 1 to that of the VPs, and 0
 * is the same as WEFT_AGENT_PARK. EINVAL otherwise, ENOTSUP without weft,
 * ENOMEM if the runtime cannot start. Never blocks.
 */
int weft_agent_set(enum weft_agent_policy policy, unsigned int agents);

/*
 * The caller is about to block in a way that weft does not see, such as an
 * ioctl or a system call of its own: gives its VP to other threads before,
 * which weft would notice late otherwise. Until weft_block_end, or until the
 * caller's next call of a function that weft replaces. Neither fails. Not in
 * a signal handler.
 */
void weft_block_begin(void);
void weft_block_end(void);

/* Numbers since the runtime started, of all VPs together. */
struct weft_stats {
	uint64_t threads;     /* made */
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
	uint64_t word_waits;  /* waits for words that parked */
	uint64_t word_hits;   /* of these, ended by polling */
	uint64_t word_rings;  /* and by a doorbell */
	uint64_t steals;      /* threads taken from another VP */
	uint64_t preemptions_cooperative; /* threads that yielded when asked */
	uint64_t refusals;		  /* preemptions put off */
	uint64_t binds;	   /* threads that got a kernel thread of their own */
	uint64_t requests; /* waits that io_uring was asked for */
	uint64_t served;   /* calls that I/O workers were asked for */
};

/*
 * Fills the first `size` bytes of *stats, sizeof(struct weft_stats): a newer
 * library may know more, an older one fills what it does not know with 0. All
 * are 0 before the first pthread_create, and without weft. Never blocks, may
 * be called in a signal handler.
 */
void weft_stats(struct weft_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif
