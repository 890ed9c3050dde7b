/* SPDX-License-Identifier: MIT */
/*
 * libc's own functions under the names that weft interposes. The table of
 * pointers is filled before any other code of weft runs, and constant
 * afterwards.
 *
 *     wf_real.pthread_mutex_lock(m);
 */
#ifndef WEFT_LIBC_REAL_H
#define WEFT_LIBC_REAL_H

#include <aio.h>
#include <dirent.h>
#include <grp.h>
#include <link.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

struct wf_real {
#define WF_REAL(ret, name, args) ret(*name) args;
#include "libc/real_names.h"
#undef WF_REAL
};

extern struct wf_real wf_real;

/* Takes no lock. Returns NULL, or the name that libc lacks. */
const char *wf_real_init(void);

#endif
