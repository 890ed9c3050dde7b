/* SPDX-License-Identifier: MIT */
/*
 * libweft-mpi.so: blocking MPI calls that park the calling thread.
 *
 *     mpiexec -n 2 weft run --mpi ./program
 *
 * The library is preloaded beside libweft.so and defines MPI's blocking
 * functions. It includes no mpi.h, because MPICH and Open MPI have different
 * handles and constants, and one library has to serve both. Each argument of
 * these functions is an integer, a handle or a pointer, and has a register or
 * a stack slot of 8 bytes. So each is declared as one word here and passed on
 * unread, whatever the MPI library takes it for. The library reads only flags
 * and counts that the MPI library writes as int, and knows three constants of
 * each MPI (struct wf_mpi_library).
 *
 * calls.h   the table of the functions that the library replaces
 * calls.c   replaces them
 * library.c finds the MPI library of the process, and tools
 * poller.c  the thread that completes requests for all waiting threads
 * errors.c  errors of requests, which MPICH gives to the wrong handler
 * bound.c   kernel threads for calls without a non-blocking form
 * start.c   MPI_Init and MPI_Finalize
 * stats.c   the counters of --stats
 */
#ifndef WEFT_MPI_MPI_H
#define WEFT_MPI_MPI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* An argument of an MPI function. The upper half of an int is undefined. */
typedef intptr_t wf_mpi_word;

/* MPI_Dist_graph_create_adjacent and MPI_Sendrecv have the most. */
enum { WF_MPI_ARGS = 12 };

typedef int (*wf_mpi_fn)(wf_mpi_word, wf_mpi_word, wf_mpi_word, wf_mpi_word,
			 wf_mpi_word, wf_mpi_word, wf_mpi_word, wf_mpi_word,
			 wf_mpi_word, wf_mpi_word, wf_mpi_word, wf_mpi_word);

/* --- library.c: the MPI library that the process has loaded --- */

struct wf_mpi_library {
	void *handle; /* of dlopen */
	wf_mpi_word status_ignore;
	wf_mpi_word comm_world;
	wf_mpi_word packed; /* MPI_PACKED */
};

/* Finds the library at the first call. Ends the process if there is none. */
const struct wf_mpi_library *wf_mpi_library(void);

/* The library's own function, as "PMPI_Test". Ends the process without it. */
wf_mpi_fn wf_mpi_library_find(const char *name);

/* The function of this name ("MPI_Send") in a tool, or NULL: there is none. */
wf_mpi_fn wf_mpi_library_find_tool(const char *name);

/* Prints a line that begins with "weft: ". */
__attribute__((format(printf, 1, 2))) void wf_mpi_say(const char *format, ...);

/* --- calls.c --- */

/*
 * Calls the function with these arguments, WF_MPI_ARGS words. A function with
 * fewer parameters ignores the others. Calls that the function makes in turn go
 * to the MPI library unchanged: parts of it call MPI's public functions.
 */
int wf_mpi_call(wf_mpi_fn fn, const wf_mpi_word *args);

/* Calls PMPI_... by its name, with the arguments. */
#define WF_MPI_DO(name, ...)                           \
	wf_mpi_call(wf_mpi_library_find("PMPI_" name), \
		    (const wf_mpi_word[WF_MPI_ARGS]){ __VA_ARGS__ })

/* --- poller.c --- */

/*
 * A call that has to be repeated until it stores a flag other than 0 or fails.
 *
 *     struct wf_mpi_wait w = {
 *             .test = test,
 *             .args = { request, (wf_mpi_word)&w.own_flag, status },
 *             .flag = &w.own_flag,
 *     };
 *     rc = wf_mpi_poller_wait(&w);
 */
struct wf_mpi_wait {
	wf_mpi_fn test;
	wf_mpi_word args[WF_MPI_ARGS];
	const int *flag;
	int own_flag;
	int rc;
	/* Errors are kept for the caller (errors.c), and that one was. */
	bool keeps_error, has_kept_error;
	_Atomic uint32_t is_over;
	struct wf_mpi_wait *next;
};

/* Waits and returns the call's result. Parks the thread. */
int wf_mpi_poller_wait(struct wf_mpi_wait *w);

/* Ends the poller. Threads that still wait do so for ever; returns how many. */
unsigned int wf_mpi_poller_end(void);

/* Parks the thread while the word is `old`. No cancellation point. */
void wf_mpi_park(_Atomic uint32_t *word, uint32_t old);

/* Sets the word to 1 and wakes the thread that parks there. */
void wf_mpi_unpark(_Atomic uint32_t *word);

/* --- errors.c --- */

/* Makes the wait's call. With keeps_error MPICH raises no error in it. */
int wf_mpi_errors_try(struct wf_mpi_wait *w);

/* Raises the error that the wait has kept on the communicator. */
void wf_mpi_errors_raise(const struct wf_mpi_wait *w, wf_mpi_word comm);

/* --- bound.c --- */

/* Makes the call on a kernel thread, and parks the calling thread. */
int wf_mpi_bound_call(wf_mpi_fn fn, const wf_mpi_word *args);

/* Ends the kernel threads that have no call. */
void wf_mpi_bound_end(void);

/* --- start.c --- */

/* True between MPI_Init and MPI_Finalize with MPI_THREAD_MULTIPLE. */
extern _Atomic bool wf_mpi_is_active;

/* `init` is MPI_Init or MPI_Init_thread of the MPI library. */
int wf_mpi_start(wf_mpi_fn init, const wf_mpi_word *args);
int wf_mpi_finish(wf_mpi_fn finalize, const wf_mpi_word *args);

/* --- stats.c --- */

/* name, text */
#define WF_MPI_COUNTERS(X)                               \
	X(at_once, "calls that did not have to wait")    \
	X(parked, "calls that parked their thread")      \
	X(polled, "of these, ended by the poller")       \
	X(sweeps, "rounds of the poller")                \
	X(sleeps, "sleeps of the poller between rounds") \
	X(bound, "calls on kernel threads")

struct wf_mpi_stats {
#define WF_MPI_COUNTER(name, text) _Atomic uint64_t name;
	WF_MPI_COUNTERS(WF_MPI_COUNTER)
#undef WF_MPI_COUNTER
};
extern struct wf_mpi_stats wf_mpi_stats;

/* The process replaces MPI calls: its exit prints the counters. */
void wf_mpi_stats_begin(void);

#define WF_MPI_COUNT(name) \
	atomic_fetch_add_explicit(&wf_mpi_stats.name, 1, memory_order_relaxed)

#endif
