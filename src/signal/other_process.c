/* SPDX-License-Identifier: MIT */
/*
 * A thread on weft has an id that the kernel does not know. So the sender sends
 * WF_PREEMPT_SIGNAL to the signal receiver thread of the other process. The
 * signal's value holds the thread's id, the signal number for the thread, and a
 * question number. The kernel checks which process may send which signal.
 *
 * Natively the thread has the signal when tgkill returns. So the sender waits
 * until the receiver has taken the signal and sleeps again. By then the
 * receiver has put an answer behind its own name: the question number, and
 * whether there is such a thread. Every process may read the name, even if it
 * may not signal or trace the other process.
 *
 * The name has room for one answer. A sender that finds the answer to another
 * question asks again, but only whether the thread exists: its signal may have
 * been delivered.
 */
#include "signal/other_process.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"

enum {
	/* si_code of these signals: below 0, as a process must send it; used by
	 * no other program */
	CODE = -0x5746,
	PAUSE_NS = 50 * WF_NS_PER_US,
	MOST_PAUSES = 20000,
	SIGNAL_SHIFT = 32,
	QUESTION_SHIFT = 40,
	QUESTION_BITS = 17,
	IS_FOUND = 1 << QUESTION_BITS,
	ANSWER_BITS = QUESTION_BITS + 1,
	MOST_QUESTIONS = 1000,
};

/* The kernel's struct linux_dirent64, as getdents64 writes it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static int number_in(const char *name)
{
	int n = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		n = n * 10 + (*name - '0');
	return n;
}

/*
 * Returns the tid of the receiver if it is among the entries of one read; else
 * 0.
 */
static int find_in(int proc, const char *entries, long bytes)
{
	for (long at = 0; at < bytes;) {
		const struct entry *e = (const struct entry *)(entries + at);
		int tid = number_in(e->name);
		char name[WF_OS_NAME_BYTES] = "";

		if (tid > 0)
			wf_os_thread_name(proc, tid, name);
		if (strncmp(name, WF_SIGNAL_RECEIVER_NAME,
			    strlen(WF_SIGNAL_RECEIVER_NAME)) == 0)
			return tid;
		at += e->bytes;
	}
	return 0;
}

static int find_receiver(int proc)
{
	char entries[2048] __attribute__((aligned(8)));
	int tid = 0;
	long bytes;

	while (tid == 0 && (bytes = wf_sys(SYS_getdents64, proc, entries,
					   sizeof(entries))) > 0)
		tid = find_in(proc, entries, bytes);
	return tid;
}

/*
 * True if the receiver runs, or waits for a page of its memory, which a fork
 * may delay.
 */
static bool is_at_work(char state)
{
	return state == 'R' || state == 'D';
}

static bool has_taken(int proc, int tid)
{
	return (wf_os_pending_of(proc, tid) & WF_PREEMPT_BIT) == 0 &&
	       !is_at_work(wf_os_thread_state(proc, tid));
}

/*
 * Waits until the receiver sleeps. Returns false if that takes too long: the
 * process may have been stopped.
 */
static bool await(int proc, int tid)
{
	const struct timespec pause = { 0, PAUSE_NS };

	for (int i = 0; i < MOST_PAUSES; i++) {
		if (has_taken(proc, tid))
			return true;
		wf_sys(SYS_nanosleep, &pause, NULL);
	}
	return false;
}

/*
 * Stores the name that the receiver has once it has answered the question in
 * `value`.
 */
static void name_of_answer(char ret_name[WF_OS_NAME_BYTES], uint64_t value,
			   bool is_found)
{
	uint64_t answer = value >> QUESTION_SHIFT;
	char *end = stpcpy(ret_name, WF_SIGNAL_RECEIVER_NAME);

	answer |= is_found ? IS_FOUND : 0;
	for (int bits = 0; bits < ANSWER_BITS; bits += 6)
		*end++ = (char)('0' + (answer >> bits & 63));
	*end = '\0';
}

static bool is_answer(const char *name, uint64_t value, bool is_found)
{
	char wanted[WF_OS_NAME_BYTES];

	name_of_answer(wanted, value, is_found);
	return strcmp(name, wanted) == 0;
}

/*
 * Returns a random question number. With a counter two senders could use the
 * same one, since they may ask the same receiver at about the same time.
 */
static uint64_t new_question(void)
{
	uint64_t mixed = (uint64_t)wf_os_now() ^ (uint64_t)wf_os_gettid() << 32;

	mixed *= UINT64_C(0x9e3779b97f4a7c15);
	return mixed >> (64 - QUESTION_BITS);
}

/*
 * Sends a question and waits for the answer. Returns -EAGAIN if another
 * sender's answer came instead. Returns 0 also if the process has ended.
 */
static long ask(int proc, long pid, int receiver, uint64_t what)
{
	uint64_t value = new_question() << QUESTION_SHIFT | what;
	char name[WF_OS_NAME_BYTES] = "";
	siginfo_t info;
	long rc;

	memset(&info, 0, sizeof(info));
	info.si_code = CODE;
	info.si_pid = wf_os_getpid();
	info.si_uid = (uid_t)wf_sys(SYS_getuid);
	info.si_value.sival_ptr = (void *)value;
	rc = wf_sys(SYS_rt_tgsigqueueinfo, pid, receiver, WF_PREEMPT_SIGNAL,
		    &info);
	if (rc < 0)
		return rc;
	if (!await(proc, receiver))
		return 0;
	wf_os_thread_name(proc, receiver, name);
	if (is_answer(name, value, false))
		return -ESRCH;
	if (is_answer(name, value, true) || name[0] == '\0')
		return 0;
	return -EAGAIN;
}

static long send(int proc, long pid, long tid, long sig)
{
	int receiver = find_receiver(proc);
	long rc;

	if (receiver == 0)
		return -ESRCH;
	rc = ask(proc, pid, receiver,
		 (uint64_t)sig << SIGNAL_SHIFT | (uint64_t)tid);
	if (rc != -EAGAIN)
		return rc;
	for (int i = 0; i < MOST_QUESTIONS && rc == -EAGAIN; i++)
		rc = ask(proc, pid, receiver, (uint64_t)tid);
	/* 'X': the signal has ended the process. */
	return rc == -EAGAIN || wf_os_thread_state(proc, receiver) == 'X' ? 0 :
									    rc;
}

long wf_other_process_send(long pid, long tid, long sig)
{
	int proc;
	long rc;

	if (pid <= 0 || sig < 0 || sig > 64)
		return -EINVAL;
	if (sig == SIGKILL || sig == SIGSTOP)
		return wf_sys(SYS_kill, pid, sig);
	proc = wf_os_proc_open_of((int)pid);
	if (proc < 0)
		return -ESRCH;
	rc = send(proc, pid, tid, sig);
	wf_sys(SYS_close, proc);
	return rc;
}

bool wf_other_process_target(siginfo_t *info, struct wf_thread **ret_target)
{
	uint64_t value = (uint64_t)info->si_value.sival_ptr;
	int sig = (int)(value >> SIGNAL_SHIFT & 127);
	struct wf_thread *t;

	if (info->si_code != CODE)
		return false;
	*ret_target = NULL;
	/* Checks the value, which any process that may send signals can
	 * send. */
	if (sig > 64 || sig == SIGKILL || sig == SIGSTOP)
		return true;
	t = wf_table_by_tid((int32_t)(value & UINT32_MAX));
	*ret_target =
		wf_thread_exists(t) && t->kind != WF_THREAD_FOREIGN ? t : NULL;
	info->si_signo = sig;
	info->si_code = SI_TKILL;
	info->si_value.sival_ptr = NULL;
	return true;
}

void wf_other_process_answer(union sigval asked, bool is_found)
{
	char name[WF_OS_NAME_BYTES];

	name_of_answer(name, (uint64_t)asked.sival_ptr, is_found);
	wf_os_set_thread_name(name);
}
