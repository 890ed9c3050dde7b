/* SPDX-License-Identifier: MIT */
/*
 * The order of weft's spin locks. A thread that holds locks takes only a lock
 * of a later rank, so no two threads wait for each other.
 *
 *     wf_spin_lock(&queue->lock, WF_RANK_INJECT);
 *
 * With WF_CHECK_RANKS, which a debug build defines, each acquire is checked and
 * a wrong one panics. Otherwise a rank costs nothing. A lock is held by the
 * kernel thread: one that is released after a switch belongs to the incoming
 * thread by then (wf_ranks_carried).
 */
#ifndef WEFT_BASE_RANK_H
#define WEFT_BASE_RANK_H

#include <stdint.h>

#include "base/compiler.h"

/*
 * X(name, file, what it protects, what may be done under it). "memory": its
 * owner only reads and writes memory. "calls": it makes system calls that
 * return at once. "threads": it also starts kernel threads or waits for one.
 */
#define WF_RANKS(X)                                                            \
	X(START, "boot/start.c", "the start of the runtime", "threads")        \
	X(SETXID, "boot/setxid.c", "the change of credentials in progress",    \
	  "threads")                                                           \
	X(WATCHER, "io/backend/watcher.c", "the start of the watcher",         \
	  "threads")                                                           \
	X(SUPERVISOR, "io/backend/supervisor.c",                               \
	  "the start of the supervisor", "threads")                            \
	X(OWN_WORKER, "io/backend/worker.c", "the numbers of those two",       \
	  "threads")                                                           \
	X(EXIT_KEY, "thread/main_exit.c", "the making of libc's key", "calls") \
	X(CLONE, "sched/clone_lock.c", "the set of kernel threads", "threads") \
	X(RECEIVER_POLICY, "thread/policy.c",                                  \
	  "the policy of the signal receiver", "calls")                        \
	X(CPU_TIMERS, "thread/cpu_timer.c", "timers on CPU clocks", "memory")  \
	X(POSIX_TIMERS, "signal/posix_timer.c",                                \
	  "timers that signal one thread", "memory")                           \
	X(ACTIONS, "signal/action.c", "the actions of signals", "calls")       \
	X(SHARED, "sync/shared.c", "the monitor's list of robust mutexes",     \
	  "memory")                                                            \
	X(KEYS, "sched/keys.c", "the start of protection keys", "calls")       \
	X(CPU_TIME, "sched/cpu_time.c", "the start of measuring CPU time",     \
	  "calls")                                                             \
	X(SLOT_CLASSES, "mem/slot.c", "the classes of slots", "memory")        \
	X(SLOT_CLASS, "mem/slot.h", "the slots of a class", "calls")           \
	X(THREAD_TABLE, "sched/table.c", "the size of the table of threads",   \
	  "calls")                                                             \
	X(FOREIGN, "sched/table.c", "free records of foreign threads",         \
	  "memory")                                                            \
	X(TCB_LIST, "libc/tcb.c", "insertions into ld.so's list", "memory")    \
	X(CARRIER_EXIT, "sched/carrier_exit.c", "carriers that exit",          \
	  "memory")                                                            \
	X(RESERVED, "sched/reserved.c", "which carrier is a thread's",         \
	  "memory")                                                            \
	X(SPARE_CARRIERS, "sched/carrier.c", "carriers without a VP",          \
	  "memory")                                                            \
	X(MANY, "io/call/many.c", "waits for many descriptors", "calls")       \
	X(EPOLL_PROXY, "io/file/epoll_proxy.c",                                \
	  "the sets of epoll descriptors in use", "calls")                     \
	X(WATCHER_SET, "io/backend/watcher_set.h", "requests of the watcher",  \
	  "calls")                                                             \
	X(PIN, "io/file/pin.c", "waits with a pinned file", "calls")           \
	X(WORKER_LISTS, "io/backend/worker.c", "idle and unused workers",      \
	  "memory")                                                            \
	X(WORKER, "io/backend/worker_table.h", "the job of a worker", "calls") \
	X(SIGNAL_QUEUE, "sched/thread.h", "the signals sent to a thread",      \
	  "memory")                                                            \
	X(SIGNAL_NODES, "signal/queue.c", "free nodes of these queues",        \
	  "calls")                                                             \
	X(WORD_TABLE, "wait/word_table.c", "the slots of wait words", "calls") \
	X(WORD_ARRAY, "wait/word_array.c", "free wait words", "calls")         \
	X(BUCKET_CHOICE, "wait/ufutex_table.c", "the choice of the table",     \
	  "calls")                                                             \
	X(BOOST, "sync/boost.c", "boosts of priorities", "memory")             \
	X(BIASED, "wait/biased.h", "a revocation of the biased lock", "calls") \
	X(BUCKET, "wait/ufutex_bucket.h",                                      \
	  "the waiters of a bucket, or of all"                                 \
	  " buckets for the owner of the biased lock",                         \
	  "memory")                                                            \
	X(BUCKET_BESIDE, "wait/ufutex_bucket.h", "a second bucket", "memory")  \
	X(REALTIME, "sched/realtime.c", "threads with a real-time policy",     \
	  "memory")                                                            \
	X(CLOCK, "wait/timer.c", "the offset of the settable clock", "memory") \
	X(TIMERS, "wait/timer.c", "the timers of a VP", "memory")              \
	X(INJECT, "sched/inject.h", "the injection queue", "memory")           \
	X(IDLE, "sched/idle.c", "which VPs are idle", "memory")                \
	X(SERVICES, "sched/service.c", "the rows of services", "memory")

#define WF_RANK_NAME(name, file, protects, under) WF_RANK_##name,
enum wf_rank { WF_RANK_NONE, WF_RANKS(WF_RANK_NAME) WF_NR_RANKS };
#undef WF_RANK_NAME

#ifdef WF_CHECK_RANKS
/* Panics if the calling thread holds a lock of this rank or a later one. */
void wf_rank_check(enum wf_rank rank);
void wf_rank_taken(enum wf_rank rank);
void wf_rank_released(enum wf_rank rank);

/* The ranks of the locks that the calling thread holds: bit n for rank n. */
uint64_t wf_ranks_held(void);

/*
 * Sets the locks that the calling thread holds. After a switch these are the
 * locks that it holds for the thread before it; in a fork child, none.
 */
void wf_ranks_carried(uint64_t held);
#else
WF_INLINE void wf_rank_check(enum wf_rank rank)
{
}

WF_INLINE void wf_rank_taken(enum wf_rank rank)
{
}

WF_INLINE void wf_rank_released(enum wf_rank rank)
{
}

WF_INLINE void wf_ranks_carried(uint64_t held)
{
}
#endif

#endif
