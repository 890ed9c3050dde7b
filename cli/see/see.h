/* SPDX-License-Identifier: MIT */
/*
 * Reads the threads of a process on weft, or of its core file, from outside.
 *
 *     struct wf_see_table table;
 *     struct wf_see *see;
 *     int err = wf_see_open("4711", &see);
 *
 *     if (err == 0)
 *             err = wf_see_threads(see, &table);
 *     for (uint32_t i = 0; err == 0 && i < table.nr; i++)
 *             printf("%d\n", table.threads[i].tid);
 *     wf_see_table_free(&table);
 *     wf_see_close(see);
 *
 * The process is not stopped, gets no signal and runs no code for it. All that
 * is read is taken for hostile: each address and length is checked, and no loop
 * depends on the process to end.
 */
#ifndef WEFT_CLI_SEE_SEE_H
#define WEFT_CLI_SEE_SEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/x86_64/registers.h"

struct wf_see;

/* Errors: -Exxx of the system calls, or one of these. */
enum wf_see_error {
	WF_SEE_NOT_WEFT = -1000, /* has no libweft.so with a layout */
	WF_SEE_NO_THREADS,	 /* the runtime has not started */
	WF_SEE_NOT_CORE,	 /* neither a process nor a core file */
	WF_SEE_OTHER_FORM,	 /* of a weft with another form of layout */
	WF_SEE_BROKEN,		 /* its data contradicts itself */
	WF_SEE_NOT_STREAM,	 /* "-" sends no memory */
	WF_SEE_CUT_OFF,		 /* a core file without some of its end */
};

/*
 * Opens a process by number or a core file by path. "-" is a process that
 * serves its memory to standard input. Returns 0 or an error; -ESRCH if there
 * is no such process, -EPERM if it may not be read.
 */
int wf_see_open(const char *which, struct wf_see **ret_see);
/* The process that `which` is the number of; 0: it is the path of a core. */
int wf_see_process_number(const char *which);
void wf_see_close(struct wf_see *see);
/* A sentence on the error, for "weft: WHICH: ...". Static. */
const char *wf_see_error_text(int err);

/* Of the library in the process; "" if it is not known. */
const char *wf_see_version(const struct wf_see *see);
/* 0: a core file. */
int wf_see_pid(const struct wf_see *see);

/*
 * Copies memory. wf_see_read_some returns how many bytes from the first one
 * could be read; wf_see_read returns true if all could.
 */
size_t wf_see_read_some(const struct wf_see *see, uint64_t address, void *to,
			size_t bytes);
bool wf_see_read(const struct wf_see *see, uint64_t address, void *to,
		 size_t bytes);

/* A mapped file, in the order of addresses. */
struct wf_see_map {
	uint64_t start, end;
	uint64_t offset;  /* in the file */
	const char *name; /* as the process names it */
	bool is_code;	  /* false in a core, which does not say */
};
const struct wf_see_map *wf_see_maps(const struct wf_see *see, size_t *ret_nr);
/* The map with the address, or NULL. */
const struct wf_see_map *wf_see_map_at(const struct wf_see *see,
				       uint64_t address);
/*
 * Opens the file of a map to read it, as the process sees it: in its mount
 * namespace, and also if it was deleted. Returns a descriptor or -Exxx.
 */
int wf_see_open_object(const struct wf_see *see, const struct wf_see_map *map);

/* A number or an address of the layout, by name (src/see/layout.h). */
bool wf_see_number(const struct wf_see *see, const char *name,
		   uint64_t *ret_value);

/* The word for a value of an enum of the layout, or NULL. */
const char *wf_see_enum_word(const struct wf_see *see, const char *of,
			     uint64_t value);

enum wf_see_state {
	WF_SEE_RUNNING,	    /* on a carrier */
	WF_SEE_RUNNABLE,    /* in a queue */
	WF_SEE_PARKED,	    /* waits in weft */
	WF_SEE_SYSTEM_CALL, /* its carrier sleeps in the kernel */
	WF_SEE_NOT_STARTED,
	WF_SEE_EXITING,
	WF_SEE_EXITED,	 /* waits to be joined */
	WF_SEE_CHANGING, /* between two states each time it was read */
	WF_SEE_NR_STATES
};
/* "running", "runnable", ... */
const char *wf_see_state_name(enum wf_see_state state);

#define WF_SEE_NO_THREAD UINT32_MAX
#define WF_SEE_NS_PER_MS 1000000LL

enum wf_see_registers_from {
	WF_SEE_REGISTERS_NONE,	 /* it runs: only the kernel has them */
	WF_SEE_REGISTERS_KERNEL, /* it ran: all are in the core's note */
	WF_SEE_REGISTERS_SAVED,
	WF_SEE_REGISTERS_PREEMPTED, /* all are in the ucontext at rsp */
	WF_SEE_REGISTERS_ENTRY,	    /* not started: rip is the start routine */
};

struct wf_see_thread {
	uint64_t record; /* its address in the process */
	uint32_t index;
	int tid;
	uint64_t pthread; /* pthread_t, and the thread register */
	char name[17];
	uint64_t start, start_arg; /* start routine; 0: the first thread */
	enum wf_see_state state;
	bool is_first;
	bool is_bound;
	const char *bound_why; /* if it is bound */
	int vp;		       /* -1: none */
	int carrier_tid;       /* 0: none */
	long system_call;      /* number; -1: not known */
	const char *queue;     /* "interactive", ...; NULL: not known */
	int queue_vp;	       /* -1: the queue is of no VP */

	/* Waiting: all below is unset if wait_kind is NULL. */
	const char *wait_kind; /* "mutex", ... */
	uint64_t wait_addr, wait_generation;
	uint64_t object;	 /* address of the mutex, condition, ... */
	uint64_t mutex;		 /* of a condition, 0: not known */
	bool was_moved;		 /* from a condition to its mutex */
	int owner_tid;		 /* 0: none, or not known */
	uint32_t owner;		 /* index in the table, or WF_SEE_NO_THREAD */
	uint32_t arrived, count; /* barrier */
	const char *operation;	 /* of io; NULL: not known */
	long operation_call;	 /* system call that an I/O worker makes; -1 */
	int fd;			 /* -1: none */
	const char *backend;	 /* "uring", "workers" */
	uint64_t signals;	 /* bit n - 1: it waits for signal n */
	/* CLOCK_MONOTONIC of the process; 0: not known or none. */
	int64_t since_ns, until_ns;

	enum wf_see_registers_from registers_from;
	uint64_t saved_sp; /* where they are saved; 0: nowhere */
	/*
	 * The registers with which the thread runs again. From rbx on they are
	 * known of a preempted thread, and of one that ran when its core was
	 * made. Another thread has saved them in its function's frame.
	 */
	struct wf_arch_registers registers;
};

struct wf_see_table {
	struct wf_see_thread *threads; /* by index */
	uint32_t nr;
	uint32_t nr_vps;
	int64_t now_ns; /* CLOCK_MONOTONIC after the reading; 0: not known */
};

/* Reads all threads. Returns 0 or an error. */
int wf_see_threads(const struct wf_see *see, struct wf_see_table *ret_table);
void wf_see_table_free(struct wf_see_table *table);

/* The thread with this tid, kernel tid of a carrier included; or NULL. */
const struct wf_see_thread *wf_see_thread_of(const struct wf_see_table *table,
					     int tid);

/*
 * Calls found() for each cycle of threads that wait for each other, in the
 * order in which each waits for the next. All of them were in these waits at
 * one moment: each wait and each owner is read again before.
 */
typedef void wf_see_cycle_fn(void *arg, const struct wf_see_thread *const *of,
			     uint32_t nr);
/* Returns how many, or -ENOMEM. */
int wf_see_cycles(const struct wf_see *see, const struct wf_see_table *table,
		  wf_see_cycle_fn *found, void *arg);

/*
 * True if each thread waits for another one to act, without a time limit, a
 * descriptor or a signal: then no thread can wake any of them. All of them were
 * in these waits at one moment.
 */
bool wf_see_all_wait(const struct wf_see *see,
		     const struct wf_see_table *table);

/*
 * Calls found() for each object with its waiters, the most waited for first.
 * Sleeps and waits of weft's own have no object. Returns 0 or -ENOMEM.
 */
typedef void wf_see_object_fn(void *arg, const struct wf_see_thread *waiter,
			      uint32_t nr_waiters);
int wf_see_objects(const struct wf_see_table *table, wf_see_object_fn *found,
		   void *arg);

#endif
