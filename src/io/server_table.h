/*
 * What the files of the I/O servers share: the table (server.c), what runs on
 * a server (serve.c), and who tells of completions and losses (keeper.c).
 */
#ifndef WEFT_IO_SERVER_TABLE_H
#define WEFT_IO_SERVER_TABLE_H

#include "base/atomic.h"
#include "base/spin.h"
#include "io/server.h"

enum {
	/* Each takes two pages and its kernel stack: 3 MiB in all. */
	WF_NR_SERVERS = 128,
	/* libc refuses it to programs; its own use, by pthread_cancel, is
	 * weft's. Debuggers pass it silently. */
	WF_SERVER_END_SIGNAL = 32,
};

/* Bits of wf_server.word. */
enum {
	WF_SERVER_JOB = 1, /* there is a job to begin (SERVER-4) */
	WF_SERVER_GO = 2,  /* it is to end */
};

/* As the kernel walks it when a process ends. */
struct wf_robust {
	struct wf_robust *next;
};
struct wf_robust_head {
	struct wf_robust list;
	long offset;
	struct wf_robust *pending;
};

struct wf_server {
	struct wf_thread self; /* wf_self there; in_runtime is always 1 */
	_Atomic int tid;       /* 0: it does not run; lock, or its starter */
	_Atomic uint32_t setxid_seen, setxid_arrived;
	void (*run)(void *);
	char *block;	 /* TLS and stack; kept by a fork child */
	bool is_process; /* starter */

	struct wf_spin lock;
	struct wf_request *job; /* SERVER-2; lock */
	_Atomic bool is_asked;	/* to end the job; written under the lock */
	bool has_signal;	/* of the job before: to be taken; lock */
	struct wf_vp *vp;	/* that the job came from, or NULL; lock, and
				 * the process until it has told */

	_Atomic uint32_t word;	 /* futex; WF_SERVER_JOB, ... */
	_Atomic uint32_t status; /* of the job; enum wf_server_status */
	_Atomic bool has_begun;	 /* the job's call; the server */
	int result;		 /* of the job; the server, before COMPLETE */
	struct wf_server *next;	 /* lists_lock */

	/* Of a process. */
	/* futex: as wf_serve_clone; keeper.c, KEEPER-4 */
	_Atomic int made_pid;
	_Atomic int start_word; /* futex: 1 it runs, -Exxx it cannot */
	int main_pid;		/* whose server it is */
	struct wf_robust_head robust_head;
	struct wf_robust robust;
	_Atomic uint32_t owner; /* its tid; marked by the kernel at its end */
};

extern struct wf_server wf_servers[WF_NR_SERVERS];

/*
 * serve.c. Starts s, which is nobody's else. A process that cannot be made is
 * -Exxx: try a kernel thread.
 */
int wf_serve_start(struct wf_server *s, bool is_process, void (*run)(void *));
/*
 * Makes the kernel thread or the process of s, which wf_serve_start has set up:
 * its id or -Exxx. A process dies with the calling kernel thread.
 */
int wf_serve_clone(struct wf_server *s);
/* What a server runs that is for requests; arg is the server. */
void wf_serve_jobs(void *arg);
/* The disposition of the signal that ends calls. */
void wf_serve_set_action(void);

/* serve_call.c. Makes the call of r; on a server. */
int wf_serve_call(const struct wf_request *r);
/* Is it the same, made by another process of the program's? */
bool wf_serve_is_for_process(const struct wf_request *r);
/* Does its result depend on limits of the process that makes it? */
bool wf_serve_heeds_limits(const struct wf_request *r);
/*
 * The result of a call during which its server was killed; -ERESTART if it may
 * be made once more.
 */
int wf_serve_lost(const struct wf_request *r);

/*
 * server.c. The job of s, if it is complete, is completed and s has nothing to
 * do. On a kernel thread of this process.
 */
void wf_server_finish(struct wf_thread *me, struct wf_server *s);
/* May a process be made? Asked under the clone lock (SERVER-8). */
bool wf_server_may_be_made(void);
/* The process of s has ended, which the caller is to see to. Its pid. */
int wf_server_lose(struct wf_server *s);

/* keeper.c. Starts the keeper if there is none: 0 or -Exxx. */
int wf_keeper_start(void);
/* Is the caller the keeper? */
bool wf_keeper_is_self(void);
/* As wf_serve_clone, by the keeper. On any kernel thread of weft's. */
int wf_keeper_clone(struct wf_server *s);
/* It goes through its loop again, if there is one. Anybody. */
void wf_keeper_wake(void);
/* The word that the kernel clears when a process ends. */
_Atomic uint32_t *wf_keeper_word(void);
/* The job of s, the calling process, is complete and is to be told. */
void wf_keeper_notice(const struct wf_server *s);
/* s, the calling process, waits for something to do; it may return early. */
void wf_keeper_rest(struct wf_server *s);
void wf_keeper_fork_child(void);

#endif
