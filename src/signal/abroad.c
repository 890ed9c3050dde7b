/*
 * The signal is WF_PREEMPT_SIGNAL, whose value has the thread's id, the number
 * that the thread is to get, and a number of the question. The kernel looks at
 * who may send what.
 *
 * Natively the thread has the signal when tgkill returns. So the sender waits
 * until the receiver has taken it and sleeps again. If there is no such thread
 * the receiver has put the number of the question behind its name by then: all
 * may read that, also who may not be signalled or traced by the other process.
 * There is room for one number. So who finds that of another question, which
 * was not there before, may have had an answer that is gone, and asks again,
 * but only for the thread: the signal may have found it.
 */
#include "signal/abroad.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

#include "os/clock.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"

enum {
	CODE = -0x5746, /* of a user, hence negative, and of nobody else */
	PAUSE_NS = 50 * WF_NS_PER_US,
	MOST_PAUSES = 20000,
	SIGNAL_SHIFT = 32,
	QUESTION_SHIFT = 40,
	QUESTION_BITS = 18,
	MOST_QUESTIONS = 100,
};

/* As the kernel writes it. */
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

/* Among those of one read; 0: it is not. */
static int find_in(int proc, const char *entries, long bytes)
{
	for (long at = 0; at < bytes;) {
		const struct entry *e = (const struct entry *)(entries + at);
		int tid = number_in(e->name);
		char name[WF_OS_NAME_BYTES] = "";

		if (tid > 0)
			wf_os_thread_name(proc, tid, name);
		if (strncmp(name, WF_ABROAD_RECEIVER,
			    strlen(WF_ABROAD_RECEIVER)) == 0)
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

static bool has_taken(int proc, int tid)
{
	return (wf_os_pending_of(proc, tid) & WF_PREEMPT_BIT) == 0 &&
	       wf_os_thread_state(proc, tid) != 'R';
}

static void await(int proc, int tid)
{
	const struct timespec pause = { 0, PAUSE_NS };

	for (int i = 0; i < MOST_PAUSES && !has_taken(proc, tid); i++)
		wf_sys(SYS_nanosleep, &pause, NULL);
}

/* What the receiver is called when it has found no such thread. */
static void name_of_answer(char ret_name[WF_OS_NAME_BYTES], uint64_t value)
{
	uint64_t question = value >> QUESTION_SHIFT;
	char *end = stpcpy(ret_name, WF_ABROAD_RECEIVER);

	for (int bits = 0; bits < QUESTION_BITS; bits += 6)
		*end++ = (char)('0' + (question >> bits & 63));
	*end = '\0';
}

/* Others ask the same receiver at about the same time. */
static uint64_t new_question(void)
{
	uint64_t mixed = (uint64_t)wf_os_now() ^ (uint64_t)wf_os_gettid() << 6;

	return mixed & ((1 << QUESTION_BITS) - 1);
}

/* -EAGAIN: another has had an answer meanwhile. */
static long ask(int proc, long pid, int receiver, uint64_t what)
{
	uint64_t value = new_question() << QUESTION_SHIFT | what;
	char before[WF_OS_NAME_BYTES] = "", after[WF_OS_NAME_BYTES] = "";
	char unknown[WF_OS_NAME_BYTES];
	siginfo_t info;
	long rc;

	memset(&info, 0, sizeof(info));
	info.si_code = CODE;
	info.si_pid = wf_os_getpid();
	info.si_uid = (uid_t)wf_sys(SYS_getuid);
	info.si_value.sival_ptr = (void *)value;
	wf_os_thread_name(proc, receiver, before);
	rc = wf_sys(SYS_rt_tgsigqueueinfo, pid, receiver, WF_PREEMPT_SIGNAL,
		    &info);
	if (rc < 0)
		return rc;
	await(proc, receiver);
	wf_os_thread_name(proc, receiver, after);
	name_of_answer(unknown, value);
	if (strcmp(after, unknown) == 0)
		return -ESRCH;
	return strcmp(after, before) == 0 ? 0 : -EAGAIN;
}

static long send(int proc, long pid, long tid, long sig)
{
	int receiver = find_receiver(proc);
	long rc;

	if (receiver == 0)
		return -ESRCH;
	rc = ask(proc, pid, receiver,
		 (uint64_t)sig << SIGNAL_SHIFT | (uint64_t)tid);
	for (int i = 0; i < MOST_QUESTIONS && rc == -EAGAIN; i++)
		rc = ask(proc, pid, receiver, (uint64_t)tid);
	return rc == -EAGAIN ? 0 : rc;
}

long wf_abroad_send(long pid, long tid, long sig)
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

bool wf_abroad_target(siginfo_t *info, struct wf_thread **ret_target)
{
	uint64_t value = (uint64_t)info->si_value.sival_ptr;
	int sig = (int)(value >> SIGNAL_SHIFT & 127);
	struct wf_thread *t;

	if (info->si_code != CODE)
		return false;
	*ret_target = NULL;
	/* Anybody who may send signals may send this. */
	if (sig > 64 || sig == SIGKILL || sig == SIGSTOP)
		return true;
	t = wf_table_by_tid((int32_t)(value & UINT32_MAX));
	*ret_target = wf_thread_is_living(t) && t->kind != WF_THREAD_FOREIGN ?
			      t :
			      NULL;
	info->si_signo = sig;
	info->si_code = SI_TKILL;
	info->si_value.sival_ptr = NULL;
	return true;
}

void wf_abroad_answer(union sigval asked, bool is_found)
{
	char name[WF_OS_NAME_BYTES];

	if (is_found)
		return;
	name_of_answer(name, (uint64_t)asked.sival_ptr);
	wf_sys(SYS_prctl, PR_SET_NAME, name);
}
