/* SPDX-License-Identifier: MIT */
/*
 * A system call with an invalid pointer returns EFAULT and raises no signal,
 * even if the program blocks, ignores or handles SIGSEGV.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

enum { PAGE = 4096, TICK_NS = 1000000 };

static int stream[2], packets[2], ends[2], file, fifo, set_of_files, semaphore,
	reader;
static mqd_t queue;
static clockid_t own_clock;
static sigset_t usr1;
static char byte = 'x';
static const struct timespec tick = { 0, TICK_NS };
static uint32_t word;

/* --- calls that read what p points to ------------------------------------- */

/* Returns the negative error. Some calls return -1 and set errno. */
static long outcome(long rc)
{
	return rc == -1 ? -errno : rc;
}

#define CALL(name, call)                      \
	static long name##_of(void *p)        \
	{                                     \
		errno = 0;                    \
		return outcome((long)(call)); \
	}

CALL(nanosleep, nanosleep(p, NULL))
CALL(clock_nanosleep, -clock_nanosleep(CLOCK_MONOTONIC, 0, p, NULL))
CALL(sleep_until, -clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, p, NULL))
CALL(select_reads, select(10, p, NULL, NULL, &(struct timeval){ 0, 1 }))
CALL(select_writes, select(10, NULL, p, NULL, &(struct timeval){ 0, 1 }))
CALL(select_others, select(10, NULL, NULL, p, NULL))
CALL(pselect, pselect(10, p, NULL, NULL, &tick, NULL))
CALL(pselect_mask, pselect(0, NULL, NULL, NULL, &tick, p))
CALL(poll, poll(p, 2, 1))
CALL(poll_dry, (recv(packets[0], &byte, 1, MSG_DONTWAIT), poll(p, 1, -1)))
CALL(ppoll_mask, ppoll(NULL, 0, &tick, p))
CALL(epoll_mask, epoll_pwait(set_of_files, &(struct epoll_event){ 0 }, 1, 1, p))
CALL(epoll_time,
     epoll_pwait2(set_of_files, &(struct epoll_event){ 0 }, 1, p, NULL))
CALL(readv, readv(stream[0], p, 1))
CALL(readv_2, readv(stream[0], p, 2))
CALL(writev, writev(stream[0], p, 1))
CALL(writev_2, writev(stream[0], p, 2))
CALL(pipe_readv, readv(ends[0], p, 1))
CALL(pipe_writev, writev(ends[1], p, 1))
CALL(fifo_readv, readv(fifo, p, 1))
CALL(fifo_writev, writev(fifo, p, 1))
CALL(packet_readv, readv(packets[0], p, 1))
CALL(file_readv, readv(file, p, 1))
CALL(file_writev, writev(file, p, 1))
CALL(preadv, preadv(file, p, 1, 0))
CALL(preadv_2, preadv(file, p, 2, 0))
CALL(pwritev, pwritev(file, p, 1, 0))
CALL(recvmsg, recvmsg(stream[0], p, 0))
CALL(recvmsg_parts,
     recvmsg(stream[0], &(struct msghdr){ .msg_iov = p, .msg_iovlen = 1 }, 0))
CALL(sendmsg, sendmsg(stream[0], p, 0))
CALL(sendmsg_parts,
     sendmsg(stream[0], &(struct msghdr){ .msg_iov = p, .msg_iovlen = 1 }, 0))
CALL(recvmmsg, recvmmsg(packets[0], p, 1, 0, NULL))
CALL(recvmmsg_time, recvmmsg(packets[0], &(struct mmsghdr){ 0 }, 1, 0, p))
CALL(sendmmsg, sendmmsg(packets[0], p, 1, 0))
CALL(send, send(stream[0], p, 16, 0))
CALL(connect, connect(stream[0], p, sizeof(struct sockaddr_un)))
CALL(setsockopt, setsockopt(stream[0], SOL_SOCKET, SO_RCVTIMEO, p, 16))
CALL(lock, fcntl(file, F_SETLKW, p))
CALL(open, open(p, O_RDONLY))
CALL(truncate, truncate(p, 0))
CALL(semop, semop(semaphore, p, 1))
CALL(semop_time, semtimedop(semaphore, &(struct sembuf){ 0, -1, 0 }, 1, p))
CALL(mq_send, mq_timedsend(queue, &byte, 1, 0, p))
CALL(mq_receive, mq_timedreceive(queue, (char[8]){ 0 }, 8, NULL, p))
CALL(sigtimedwait, sigtimedwait(p, NULL, &tick))
CALL(sigtimedwait_time, sigtimedwait(&(sigset_t){ 0 }, NULL, p))
CALL(sigwait, -sigwait(p, &(int){ 0 }))
CALL(sigsuspend, sigsuspend(p))
CALL(sigaltstack, sigaltstack(p, NULL))
CALL(signalfd, signalfd(-1, p, 0))
CALL(setcontext,
     setcontext((ucontext_t *)((char *)p - offsetof(ucontext_t, uc_sigmask))))
CALL(affinity, sched_setaffinity(0, 8, p))
CALL(thread_affinity, -pthread_setaffinity_np(pthread_self(), 8, p))
CALL(scheduler, sched_setscheduler(0, SCHED_OTHER, p))
CALL(param, sched_setparam(0, p))
CALL(thread_param, -pthread_setschedparam(pthread_self(), SCHED_OTHER, p))
CALL(attributes, syscall(SYS_sched_setattr, 0, p, 0))
CALL(name, prctl(PR_SET_NAME, p))
CALL(execve, execve("/bin/true", (char *[]){ "true", NULL }, p))
CALL(spawn, -posix_spawn(&(pid_t){ 0 }, "/bin/true", NULL, NULL,
			 (char *[]){ "true", NULL }, p))
CALL(futex_word, syscall(SYS_futex, p, FUTEX_WAIT_PRIVATE, 0, NULL))
CALL(futex_shared, syscall(SYS_futex, p, FUTEX_WAIT, 0, NULL))
CALL(futex_time, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, p))
CALL(futex_requeue,
     syscall(SYS_futex, p, FUTEX_CMP_REQUEUE_PRIVATE, 1, NULL, &word, 0))
CALL(mask, syscall(SYS_rt_sigprocmask, SIG_BLOCK, p, NULL, 8))
CALL(action, syscall(SYS_rt_sigaction, SIGUSR2, p, NULL, 8))
CALL(wait_call, syscall(SYS_rt_sigtimedwait, p, NULL, &tick, 8))
CALL(suspend_call, syscall(SYS_rt_sigsuspend, p, 8))
CALL(queueinfo, syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR2, p))
CALL(tgqueueinfo,
     syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR2, p))
CALL(clone3, syscall(SYS_clone3, p, sizeof(struct clone_args)))

/* --- calls that write to p ------------------------------------------------ */

CALL(read, read(stream[0], p, 8))
CALL(recv, recv(stream[0], p, 8, 0))
CALL(sigpending, sigpending(p))
CALL(old_mask, sigprocmask(SIG_BLOCK, NULL, p))
CALL(old_thread_mask, -pthread_sigmask(SIG_BLOCK, NULL, p))
CALL(old_altstack, sigaltstack(NULL, p))
CALL(old_mask_call, syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, p, 8))
CALL(old_action, syscall(SYS_rt_sigaction, SIGUSR2, NULL, p, 8))
CALL(pending_call, syscall(SYS_rt_sigpending, p, 8))
CALL(get_affinity, sched_getaffinity(0, 128, p))
CALL(get_thread_affinity, -pthread_getaffinity_np(pthread_self(), 128, p))
CALL(get_param, sched_getparam(0, p))
CALL(get_attributes, syscall(SYS_sched_getattr, 0, p, 48, 0))
CALL(interval, sched_rr_get_interval(0, p))
CALL(cpu_time, clock_gettime(CLOCK_THREAD_CPUTIME_ID, p))
CALL(cpu_time_call, syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, p))
CALL(thread_clock, clock_gettime(own_clock, p))
CALL(usage, getrusage(RUSAGE_THREAD, p))
CALL(robust_head, syscall(SYS_get_robust_list, 0, p, &(size_t){ 0 }))
CALL(robust_bytes, syscall(SYS_get_robust_list, 0, &(void *){ 0 }, p))
CALL(get_name, prctl(PR_GET_NAME, p))
CALL(thread_name, -pthread_getname_np(pthread_self(), p, 16))
CALL(futex_wake_op, syscall(SYS_futex, &word, FUTEX_WAKE_OP_PRIVATE, 0, 0, p,
			    FUTEX_OP(FUTEX_OP_SET, 0, FUTEX_OP_CMP_EQ, 0)))

static long take(long (*call)(void *p), void *p)
{
	sigset_t old;
	long rc;

	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &usr1, &old), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	rc = call(p);
	/* The kernel may have refused the address before it took the signal. */
	sigtimedwait(&usr1, NULL, &(struct timespec){ 0 });
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
	return rc;
}

CALL(sigwaitinfo_now, sigwaitinfo(&usr1, p))
CALL(sigwaitinfo, take(sigwaitinfo_now_of, p))
CALL(read_signals_now, read(reader, p, sizeof(struct signalfd_siginfo)))
CALL(read_signals, take(read_signals_now_of, p))

static long recvfrom_of(void *p)
{
	struct sockaddr_un from;

	CHECK_EQ(send(packets[1], &byte, 1, 0), 1);
	return outcome(recvfrom(packets[0], &byte, 1, 0, (void *)&from, p));
}

static long wait4_of(void *p)
{
	pid_t pid = fork();
	long rc;

	if (pid == 0)
		_exit(0);
	rc = outcome(wait4(pid, p, 0, NULL));
	waitpid(pid, NULL, 0);
	return rc;
}

/* --- all calls ------------------------------------------------------------ */

struct call {
	const char *name;
	long (*make)(void *p);
	int bytes; /* that it accesses */
};

#define ROW(name, bytes)                \
	{                               \
#name, name##_of, bytes \
	}

static const struct call reading[] = {
	ROW(nanosleep, 16),
	ROW(clock_nanosleep, 16),
	ROW(sleep_until, 16),
	ROW(select_reads, 8),
	ROW(select_writes, 8),
	ROW(select_others, 8),
	ROW(pselect, 8),
	ROW(pselect_mask, 8),
	ROW(poll, 16),
	ROW(poll_dry, 8),
	ROW(ppoll_mask, 8),
	ROW(epoll_mask, 8),
	ROW(epoll_time, 16),
	ROW(readv, 16),
	ROW(readv_2, 32),
	ROW(writev, 16),
	ROW(writev_2, 32),
	ROW(pipe_readv, 16),
	ROW(pipe_writev, 16),
	ROW(fifo_readv, 16),
	ROW(fifo_writev, 16),
	ROW(packet_readv, 16),
	ROW(file_readv, 16),
	ROW(file_writev, 16),
	ROW(preadv, 16),
	ROW(preadv_2, 32),
	ROW(pwritev, 16),
	ROW(recvmsg, 56),
	ROW(recvmsg_parts, 16),
	ROW(sendmsg, 56),
	ROW(sendmsg_parts, 16),
	ROW(recvmmsg, 64),
	ROW(recvmmsg_time, 16),
	ROW(sendmmsg, 64),
	ROW(send, 16),
	ROW(connect, 110),
	ROW(setsockopt, 16),
	ROW(lock, 32),
	ROW(open, 16),
	ROW(truncate, 16),
	ROW(semop, 6),
	ROW(semop_time, 16),
	ROW(mq_send, 16),
	ROW(mq_receive, 16),
	ROW(sigtimedwait, 8),
	ROW(sigtimedwait_time, 16),
	ROW(sigwait, 8),
	ROW(sigsuspend, 8),
	ROW(sigaltstack, 24),
	ROW(signalfd, 8),
	ROW(setcontext, 8),
	ROW(affinity, 8),
	ROW(thread_affinity, 8),
	ROW(scheduler, 4),
	ROW(param, 4),
	ROW(thread_param, 4),
	ROW(attributes, 4),
	ROW(name, 16),
	ROW(execve, 16),
	ROW(spawn, 16),
	ROW(futex_word, 4),
	ROW(futex_shared, 4),
	ROW(futex_time, 16),
	ROW(futex_requeue, 4),
	ROW(mask, 8),
	ROW(action, 32),
	ROW(wait_call, 8),
	ROW(suspend_call, 8),
	ROW(queueinfo, 128),
	ROW(tgqueueinfo, 128),
	ROW(clone3, 88),
};

static const struct call writing[] = {
	ROW(read, 8),
	ROW(recv, 8),
	ROW(sigpending, 8),
	ROW(old_mask, 8),
	ROW(old_thread_mask, 8),
	ROW(old_altstack, 24),
	ROW(old_mask_call, 8),
	ROW(old_action, 32),
	ROW(pending_call, 8),
	ROW(get_affinity, 8),
	ROW(get_thread_affinity, 8),
	ROW(get_param, 4),
	ROW(get_attributes, 48),
	ROW(interval, 16),
	ROW(cpu_time, 16),
	ROW(cpu_time_call, 16),
	ROW(thread_clock, 16),
	ROW(usage, 144),
	ROW(robust_head, 8),
	ROW(robust_bytes, 8),
	ROW(get_name, 16),
	ROW(thread_name, 16),
	ROW(futex_wake_op, 4),
	ROW(sigwaitinfo, 128),
	ROW(read_signals, 128),
	ROW(recvfrom, 4),
	ROW(wait4, 4),
};

static char *map(int access)
{
	char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	memset(page, 'x', PAGE);
	CHECK_EQ(mprotect(page, PAGE, access), 0);
	CHECK_EQ(mprotect(page + PAGE, PAGE, PROT_NONE), 0);
	return page;
}

static void prepare(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[64];

	usr1 = set_of(SIGUSR1);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, stream), 0);
	CHECK_EQ(write(stream[1], "12345678", 8), 8);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, packets), 0);
	CHECK_EQ(pipe(ends), 0);
	CHECK((file = memfd_create("file", 0)) >= 0);
	CHECK((set_of_files = epoll_create1(0)) >= 0);
	CHECK((semaphore = semget(IPC_PRIVATE, 1, 0600)) >= 0);
	CHECK((reader = signalfd(-1, &usr1, 0)) >= 0);
	snprintf(name, sizeof(name), "/weft-test-%d", (int)getpid());
	CHECK((queue = mq_open(name, O_RDWR | O_CREAT, 0600, &attr)) >= 0);
	CHECK_EQ(mq_unlink(name), 0);
	snprintf(name, sizeof(name), "/tmp/weft-test-%d", (int)getpid());
	CHECK_EQ(mkfifo(name, 0600), 0);
	CHECK((fifo = open(name, O_RDWR)) >= 0);
	CHECK_EQ(unlink(name), 0);
	CHECK_EQ(pthread_getcpuclockid(pthread_self(), &own_clock), 0);
}

static void try(const struct call *c, void *p)
{
	char what[64];
	long rc = c->make(p);

	if (rc == -EFAULT)
		return;
	snprintf(what, sizeof(what), "%s(%p)", c->name, p);
	check_not_equal(__FILE__, __LINE__, what, rc, -EFAULT);
}

/* Tries an unmapped address, and one with only the first half mapped. */
static void try_all(const struct call *calls, size_t nr)
{
	char *end = map(PROT_READ | PROT_WRITE) + PAGE;

	for (const struct call *c = calls; c < calls + nr; c++) {
		try(c, (void *)8);
		try(c, end);
		try(c, (void *)(1UL << 63));
		if (c->bytes > 4)
			try(c, end - c->bytes / 2);
	}
	CHECK_EQ(munmap(end - PAGE, 2 * PAGE), 0);
}

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void *make_calls(void *arg)
{
	char *constant = map(PROT_READ);

	prepare();
	try_all(reading, NR(reading));
	try_all(writing, NR(writing));
	for (size_t i = 0; i < NR(writing); i++)
		try(&writing[i], constant);
	CHECK_EQ(semctl(semaphore, 0, IPC_RMID), 0);
	return arg;
}

/* --- with SIGSEGV blocked, ignored or handled ----------------------------- */

TEST(in_a_thread)
{
	thread_join(thread_start(make_calls, NULL));
}

TEST(before_there_are_threads)
{
	make_calls(NULL);
}

TEST(in_the_first_thread)
{
	have_threads();
	make_calls(NULL);
}

static void *block_them(void *arg)
{
	sigset_t set = set_of(SIGSEGV);

	sigaddset(&set, SIGBUS);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	return make_calls(arg);
}

TEST(where_the_signals_are_blocked)
{
	thread_join(thread_start(block_them, NULL));
}

TEST(where_they_are_ignored)
{
	CHECK(signal(SIGSEGV, SIG_IGN) != SIG_ERR);
	have_threads();
	CHECK(signal(SIGBUS, SIG_IGN) != SIG_ERR);
	thread_join(thread_start(make_calls, NULL));
	CHECK(signal(SIGBUS, SIG_DFL) == SIG_IGN);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
	thread_join(thread_start(make_calls, NULL));
}

static _Atomic int nr_faults;
static sigjmp_buf before;

static void on_fault(int sig)
{
	nr_faults++;
	siglongjmp(before, 1);
}

static void *fault_at_last(void *p)
{
	make_calls(NULL);
	CHECK_EQ(nr_faults, 0);
	if (sigsetjmp(before, 1) == 0)
		*(volatile char *)p = 1;
	CHECK_EQ(nr_faults, 1);
	return NULL;
}

TEST(where_they_are_handled)
{
	CHECK(signal(SIGSEGV, on_fault) != SIG_ERR);
	thread_join(thread_start(fault_at_last, map(PROT_NONE)));
	CHECK(signal(SIGSEGV, SIG_DFL) == on_fault);
}

static void on_raise(int sig)
{
	make_calls(NULL);
}

static void *raise_it(void *arg)
{
	CHECK_EQ(raise(SIGSEGV), 0);
	return NULL;
}

TEST(in_their_handler)
{
	CHECK(signal(SIGSEGV, on_raise) != SIG_ERR);
	thread_join(thread_start(raise_it, NULL));
}
