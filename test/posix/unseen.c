/* SPDX-License-Identifier: MIT */
/*
 * Programs that bypass interposed functions: they look names up by version, or
 * make system calls without libc's wrappers.
 */
#include <linux/membarrier.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "modules.h"
#include "threading.h"

static volatile sig_atomic_t nr_signals;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool is_ready;
static int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*cond_broadcast)(pthread_cond_t *);

/* libfaketime and ThreadSanitizer look functions up this way. */
static void *by_version(void *handle, const char *name)
{
	static const char *const versions[] = { "GLIBC_2.3.2", "GLIBC_2.17",
						"GLIBC_2.27" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		void *p = dlvsym(handle, name, versions[i]);

		if (p != NULL)
			return p;
	}
	return NULL;
}

static void *wait_till_ready(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	while (!is_ready)
		CHECK_EQ(cond_wait(&cond, &mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return arg;
}

static void use_functions_of(void *handle)
{
	pthread_t threads[20];

	*(void **)&cond_wait = by_version(handle, "pthread_cond_wait");
	*(void **)&cond_broadcast =
		by_version(handle, "pthread_cond_broadcast");
	CHECK(cond_wait != NULL && cond_broadcast != NULL);
	is_ready = false;
	threads_start(threads, 20, wait_till_ready, NULL);
	for (int i = 0; i < 100; i++)
		sched_yield();
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	is_ready = true;
	CHECK_EQ(cond_broadcast(&cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	threads_join(threads, 20);
}

TEST(functions_by_version)
{
	use_functions_of(RTLD_NEXT);
	use_functions_of(RTLD_DEFAULT);
	CHECK(dlvsym(RTLD_NEXT, "no_such_function", "GLIBC_2.2.5") == NULL);
	CHECK(dlerror() != NULL);
}

static void *name_itself(void *libc)
{
	int (*set_name)(pthread_t, const char *);
	pid_t (*id)(void);
	char name[16];

	*(void **)&set_name = module_symbol(libc, "pthread_setname_np");
	CHECK_EQ(set_name(pthread_self(), "by handle"), 0);
	CHECK_EQ(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
	CHECK(strcmp(name, "by handle") == 0);
	*(void **)&id = module_symbol(libc, "gettid");
	CHECK_EQ(id(), gettid());
	return NULL;
}

/* Python's ctypes looks functions up this way. */
TEST(functions_of_one_library)
{
	static const char *const names[] = { "libc.so.6", "libpthread.so.0" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *libc = dlopen(names[i], RTLD_NOW);

		CHECK(libc != NULL);
		thread_join(thread_start(name_itself, libc));
		CHECK(dlsym(libc, "no_such_function") == NULL);
		CHECK(dlerror() != NULL);
		CHECK(dlvsym(libc, "pthread_cond_wait", "GLIBC_1") == NULL);
		CHECK(dlerror() != NULL);
		/* Some libcs have only this old version. */
		CHECK(dlvsym(libc, "pthread_yield", "GLIBC_2.2.5") == NULL ||
		      dlerror() == NULL);
	}
	use_functions_of(dlopen("libc.so.6", RTLD_NOW));
}

/*
 * Makes the call through libc's real syscall(), as if by an instruction in the
 * program.
 */
static long raw_mask(int how, const uint64_t *set)
{
	static long (*function)(long, ...);

	if (function == NULL)
		*(void **)&function =
			module_symbol(module_second_libc(), "syscall");
	return function(SYS_rt_sigprocmask, how, set, NULL, sizeof(*set));
}

static void count_signal(int sig)
{
	nr_signals++;
}

static void *raise_one(void *arg)
{
	CHECK_EQ(raise(SIGUSR1), 0);
	return arg;
}

static pthread_key_t last_key;

static void block_all(void *value)
{
	const uint64_t all = UINT64_MAX;

	CHECK_EQ(raw_mask(SIG_SETMASK, &all), 0);
}

static void *end_with_all_blocked(void *arg)
{
	CHECK_EQ(pthread_setspecific(last_key, arg), 0);
	return NULL;
}

static void write_to_nobody(void)
{
	int fds[2];

	CHECK_EQ(pthread_key_create(&last_key, block_all), 0);
	thread_join(thread_start(end_with_all_blocked, &last_key));
	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(close(fds[0]), 0);
	CHECK_EQ(write(fds[1], "x", 1), -1);
}

/*
 * Newer AddressSanitizers block all signals in a thread's last destructor. The
 * mask has to end with the thread.
 */
TEST(thread_that_ends_with_all_blocked)
{
	CHECK_EQ(child_signal(write_to_nobody), SIGPIPE);
}

/* Sanitizers block all signals while they create a thread, newer ones all but
 * SIGSYS. */
static uint64_t all_blocked = UINT64_MAX;

static void create_with_all_blocked(void *arg)
{
	const uint64_t none = 0;
	pthread_t thread;
	void *result;

	CHECK_EQ(raw_mask(SIG_SETMASK, &all_blocked), 0);
	CHECK_EQ(pthread_create(&thread, NULL, thread_nothing, arg), 0);
	CHECK_EQ(raw_mask(SIG_SETMASK, &none), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == arg);
}

static void signals_after_that(void *arg)
{
	pthread_t threads[4];

	CHECK(signal(SIGUSR1, count_signal) != SIG_ERR);
	create_with_all_blocked(arg);
	for (int i = 1; i <= 10; i++) {
		CHECK_EQ(raise(SIGUSR1), 0);
		CHECK_EQ(nr_signals, i);
	}
	nr_signals = 0;
	for (int i = 0; i < 4; i++) {
		CHECK(pthread_create(&threads[i], NULL, raise_one, NULL) == 0);
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		CHECK_EQ(nr_signals, i + 1);
	}
}

TEST(first_thread_with_all_blocked)
{
	signals_after_that(&mutex);
}

TEST(first_thread_of_a_sanitizer)
{
	signals_after_that(NULL);
}

TEST(first_thread_of_a_newer_sanitizer)
{
	all_blocked &= ~(UINT64_C(1) << (SIGSYS - 1));
	signals_after_that(NULL);
}

TEST(first_thread_of_the_newest_sanitizer)
{
	static const int spared[] = { SIGSYS, SIGILL, SIGTRAP, SIGABRT,
				      SIGBUS, SIGFPE, SIGSEGV, SIGPIPE };

	for (size_t i = 0; i < sizeof(spared) / sizeof(spared[0]); i++)
		all_blocked &= ~(UINT64_C(1) << (spared[i] - 1));
	signals_after_that(NULL);
}

static void *mask_by_system_call(void *arg)
{
	const uint64_t bit = UINT64_C(1) << (SIGUSR1 - 1);
	uint64_t old = 0;
	sigset_t set;

	CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, &old, 8), 0);
	CHECK_EQ(old & bit, 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	CHECK(sigismember(&set, SIGUSR1));
	nr_signals = 0;
	CHECK_EQ(raise(SIGUSR1), 0);
	sched_yield();
	CHECK_EQ(nr_signals, 0);
	CHECK_EQ(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &old, 8), 0);
	CHECK((old & bit) != 0);
	CHECK_EQ(nr_signals, 1);
	CHECK_ERRNO(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, &old, 4),
		    EINVAL);
	CHECK_ERRNO(syscall(SYS_rt_sigprocmask, 99, &bit, &old, 8), EINVAL);
	return arg;
}

TEST(masks_by_system_call)
{
	pthread_t thread;

	CHECK(signal(SIGUSR1, count_signal) != SIG_ERR);
	mask_by_system_call(NULL);
	CHECK_EQ(pthread_create(&thread, NULL, mask_by_system_call, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	mask_by_system_call(NULL);
}

static void call_with_arguments(void)
{
	CHECK_EQ(ptrace(PTRACE_TRACEME, 0, NULL, NULL), 0);
	CHECK_EQ(raise(SIGSTOP), 0);
	syscall(SYS_gettid, 1, 2, 3, 4, 5, 6);
	syscall(SYS_exit_group, 0, 2, 3, 4, 5, 6);
}

/* Returns the next system call's arguments after the first, as digits. */
static unsigned long rest_of_arguments(pid_t child, unsigned long *ret_nr)
{
	struct user_regs_struct regs;
	int status;

	CHECK_EQ(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
	*ret_nr = regs.orig_rax;
	return (((regs.rsi * 10 + regs.rdx) * 10 + regs.r10) * 10 + regs.r8) *
		       10 +
	       regs.r9;
}

/* Tracers and filters see the arguments that a call itself ignores. */
TEST(arguments_that_a_tracer_sees)
{
	pid_t child = child_start(call_with_arguments);
	int status, nr_seen = 0;
	unsigned long nr;

	CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	do {
		if (rest_of_arguments(child, &nr) == 23456)
			nr_seen += nr == SYS_gettid || nr == SYS_exit_group;
	} while (nr != SYS_exit_group);
	/* at gettid's entry and exit, and at exit_group's entry */
	CHECK_EQ(nr_seen, 3);
	CHECK_EQ(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	CHECK_EQ(child_wait(child), 0);
}

static long fence(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

/* weft's own registration must not show: the program has to register itself. */
TEST(fences_without_registration)
{
	enum { GET_REGISTRATIONS = 1 << 9 }; /* Linux 6.3 */
	const int own = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;

	have_threads();
	if (fence(MEMBARRIER_CMD_QUERY) < 0)
		SKIP("there is no membarrier");
	CHECK_ERRNO(fence(MEMBARRIER_CMD_PRIVATE_EXPEDITED), EPERM);
	if (fence(GET_REGISTRATIONS) >= 0)
		CHECK_EQ(fence(GET_REGISTRATIONS) & own, 0);
	CHECK_EQ(fence(own), 0);
	CHECK_EQ(fence(MEMBARRIER_CMD_PRIVATE_EXPEDITED), 0);
	if (fence(GET_REGISTRATIONS) >= 0)
		CHECK_EQ(fence(GET_REGISTRATIONS) & own, own);
}
