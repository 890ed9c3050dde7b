/* SPDX-License-Identifier: MIT */
/*
 * The functions of libc that behave differently on weft, with the reasons.
 * `weft doctor PROGRAM` looks for them, and tools/make_compat.py reads this
 * file. The includer defines one or both of
 *
 *     WF_REASON(ID, text)           the text continues after "NAME: "
 *     WF_DEVIATION(ID, when, name)  when is ALWAYS if every caller gets the
 *                                   difference, SOMETIMES if only some uses
 *                                   do; doctor reports only the former
 *
 * docs/guide/limits.md has more. Each function that it mentions has a row here.
 */
#ifndef WF_REASON
#define WF_REASON(id, text)
#endif
#ifndef WF_DEVIATION
#define WF_DEVIATION(id, when, name)
#endif

WF_REASON(PRIORITY, "obeyed among the process's own threads; to other "
		    "processes all of them are alike")
WF_DEVIATION(PRIORITY, SOMETIMES, pthread_setschedparam)
WF_DEVIATION(PRIORITY, SOMETIMES, pthread_setschedprio)
WF_DEVIATION(PRIORITY, SOMETIMES, pthread_attr_setschedparam)
WF_DEVIATION(PRIORITY, SOMETIMES, pthread_attr_setschedpolicy)
WF_DEVIATION(PRIORITY, SOMETIMES, sched_setscheduler)
WF_DEVIATION(PRIORITY, SOMETIMES, sched_setparam)

WF_REASON(PROTOCOL, "boosts among the process's own threads; a robust or "
		    "process-shared mutex with inheritance binds the thread "
		    "that locks it")
WF_DEVIATION(PROTOCOL, SOMETIMES, pthread_mutexattr_setprotocol)
WF_DEVIATION(PROTOCOL, SOMETIMES, pthread_mutexattr_setprioceiling)
WF_DEVIATION(PROTOCOL, SOMETIMES, pthread_mutex_setprioceiling)

WF_REASON(AFFINITY, "obeyed; takes a kernel thread")
WF_DEVIATION(AFFINITY, ALWAYS, pthread_attr_setaffinity_np)
WF_DEVIATION(AFFINITY, ALWAYS, pthread_setaffinity_np)
WF_DEVIATION(AFFINITY, ALWAYS, sched_setaffinity)

WF_REASON(CPU_CLOCK, "CPU clocks of threads count from when one is first asked "
		     "for; timers and sleeps on them take the thread a kernel "
		     "thread")
WF_DEVIATION(CPU_CLOCK, ALWAYS, pthread_getcpuclockid)
WF_DEVIATION(CPU_CLOCK, SOMETIMES, clock_gettime)
WF_DEVIATION(CPU_CLOCK, SOMETIMES, timer_create)
WF_DEVIATION(CPU_CLOCK, SOMETIMES, clock_nanosleep)
WF_DEVIATION(CPU_CLOCK, SOMETIMES, getrusage)

WF_REASON(REALTIME, "a wait until a time of CLOCK_REALTIME does not follow a "
		    "change of that clock")
WF_DEVIATION(REALTIME, SOMETIMES, clock_nanosleep)
WF_DEVIATION(REALTIME, SOMETIMES, cnd_timedwait)
WF_DEVIATION(REALTIME, SOMETIMES, mtx_timedlock)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_clockjoin_np)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_cond_clockwait)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_cond_timedwait)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_mutex_clocklock)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_mutex_timedlock)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_rwlock_clockrdlock)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_rwlock_clockwrlock)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_rwlock_timedrdlock)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_rwlock_timedwrlock)
WF_DEVIATION(REALTIME, SOMETIMES, pthread_timedjoin_np)
WF_DEVIATION(REALTIME, SOMETIMES, sem_clockwait)
WF_DEVIATION(REALTIME, SOMETIMES, sem_timedwait)

WF_REASON(TID, "the number is weft's own: unique and stable, but the kernel "
	       "and other processes do not know it")
WF_DEVIATION(TID, ALWAYS, gettid)

WF_REASON(KERNEL_STATE,
	  "the thread that is changed has a kernel thread of its own "
	  "from then on")
WF_DEVIATION(KERNEL_STATE, ALWAYS, nice)
WF_DEVIATION(KERNEL_STATE, ALWAYS, setfsgid)
WF_DEVIATION(KERNEL_STATE, ALWAYS, setfsuid)
WF_DEVIATION(KERNEL_STATE, ALWAYS, setns)
WF_DEVIATION(KERNEL_STATE, ALWAYS, unshare)
WF_DEVIATION(KERNEL_STATE, SOMETIMES, prctl)
WF_DEVIATION(KERNEL_STATE, SOMETIMES, setpriority)

WF_REASON(CREDENTIALS, "waits for as long as RLIMIT_SIGPENDING, hard limit "
		       "included, lets no real-time signal through")
WF_DEVIATION(CREDENTIALS, SOMETIMES, initgroups)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setegid)
WF_DEVIATION(CREDENTIALS, SOMETIMES, seteuid)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setgid)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setgroups)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setregid)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setresgid)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setresuid)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setreuid)
WF_DEVIATION(CREDENTIALS, SOMETIMES, setuid)

WF_REASON(SIGNALFD, "read returns signals to the calling thread, too; poll, "
		    "select, epoll, readv and a copy of the descriptor show "
		    "those to the process only")
WF_DEVIATION(SIGNALFD, ALWAYS, signalfd)

WF_REASON(SYSCALL, "SYS_set_robust_list takes libc's own list only; SYS_rseq "
		   "is refused")
WF_DEVIATION(SYSCALL, SOMETIMES, syscall)

#undef WF_REASON
#undef WF_DEVIATION
