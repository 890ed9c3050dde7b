/* SPDX-License-Identifier: MIT */
/*
 * Thread state that few kernels or machines have: each call succeeds or fails
 * on weft as it does natively.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum {
	NR_YIELDS = 100,
	/* numbers that older headers lack */
	LSM_GET_SELF_ATTR = 459,
	LSM_SET_SELF_ATTR = 460,
	LSM_ATTR_CURRENT = 100,
	SHADOW_STACK_ENABLE = 0x5001,
	SHADOW_STACK_LOCK = 0x5003,
	SCHED_CORE = 62,
	SCHED_CORE_GET = 0,
	SCHED_CORE_CREATE = 1,
	SCHED_CORE_OF_THREAD = 0,
	/* the port of the BIOS's self-test: a read does nothing */
	HARMLESS_PORT = 0x80,
	RSEQ_SIGNATURE = 0x53053053,
};

/* After each yield another kernel thread may run the caller. */
static void yield_often(void)
{
	for (int i = 0; i < NR_YIELDS; i++)
		sched_yield();
}

static void in_thread(void *(*start)(void *))
{
	pthread_t beside = thread_start(thread_yield_often, NULL);

	thread_join(thread_start(start, NULL));
	thread_join(beside);
}

static void *set_what_other_processors_have(void *arg)
{
	CHECK_ERRNO(prctl(PR_SET_FPEMU, PR_FPEMU_NOPRINT, 0, 0, 0), EINVAL);
	CHECK_ERRNO(prctl(PR_SET_FPEXC, PR_FP_EXC_DISABLED, 0, 0, 0), EINVAL);
	CHECK_ERRNO(prctl(PR_SET_UNALIGN, PR_UNALIGN_NOPRINT, 0, 0, 0), EINVAL);
	return arg;
}

TEST(options_of_other_processors)
{
	in_thread(set_what_other_processors_have);
	set_what_other_processors_have(NULL);
}

/* Natively libc has registered an area; on weft none can be registered. */
static void *register_area(void *arg)
{
	static _Thread_local _Alignas(32) char area[32];
	long rc = syscall(SYS_rseq, area, sizeof(area), 0, RSEQ_SIGNATURE);

	if (is_on_weft())
		CHECK(rc == -1 && errno == ENOSYS);
	else
		CHECK(rc == 0 || errno == EINVAL || errno == EBUSY ||
		      errno == ENOSYS);
	if (rc == 0)
		CHECK_EQ(syscall(SYS_rseq, area, sizeof(area), 1,
				 RSEQ_SIGNATURE),
			 0);
	return arg;
}

TEST(restartable_sequences)
{
	in_thread(register_area);
	register_area(NULL);
}

/* Natively a shadow stack must exist before the first call returns. */
static void *ask_for_shadow_stack(void *arg)
{
	if (!is_on_weft())
		SKIP("would take effect on a function that is in flight");
	for (int code = SHADOW_STACK_ENABLE; code <= SHADOW_STACK_LOCK; code++)
		CHECK_ERRNO(syscall(SYS_arch_prctl, code, 0L), EOPNOTSUPP);
	return arg;
}

TEST(shadow_stacks)
{
	in_thread(ask_for_shadow_stack);
	ask_for_shadow_stack(NULL);
}

/*
 * Returns whether the caller may use the port; a child tries, as a refusal is
 * SIGSEGV.
 */
static bool has_port(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		inb(HARMLESS_PORT);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void *has_no_port(void *arg)
{
	for (int i = 0; i < 3; i++) {
		CHECK(!has_port());
		yield_often();
	}
	return arg;
}

static void *has_port_too(void *arg)
{
	yield_often();
	CHECK(has_port());
	return arg;
}

/* ask: a function that asks for one port or for all. */
static void *use_port(void *ask)
{
	int (*const *by)(void) = ask;
	pthread_t other = thread_start(has_no_port, NULL);

	if ((*by)() != 0) {
		CHECK(errno == EPERM || errno == ENOSYS);
		thread_join(other);
		return NULL;
	}
	for (int i = 0; i < 3; i++) {
		inb(HARMLESS_PORT);
		yield_often();
	}
	thread_join(thread_start(has_port_too, NULL));
	thread_join(other);
	return ask;
}

static void check_ports(int (*ask)(void))
{
	void *result = thread_join(thread_start(use_port, &ask));

	has_no_port(NULL);
	if (result == NULL)
		SKIP("the kernel gives no port to this program");
}

static int ask_for_one(void)
{
	return (int)syscall(SYS_ioperm, HARMLESS_PORT, 1, 1);
}

static int ask_for_all(void)
{
	return (int)syscall(SYS_iopl, 3);
}

TEST(one_port)
{
	check_ports(ask_for_one);
}

TEST(all_ports)
{
	check_ports(ask_for_all);
}

/*
 * Only a helper that the kernel starts has an authority; any thread may drop
 * it.
 */
static void *assume_authority(void *arg)
{
	long rc = syscall(SYS_keyctl, KEYCTL_ASSUME_AUTHORITY, 0);

	if (rc != 0 && errno == ENOSYS)
		SKIP("the kernel has no keys");
	CHECK_EQ(rc, 0);
	yield_often();
	CHECK(syscall(SYS_keyctl, KEYCTL_ASSUME_AUTHORITY, INT32_MAX) == -1 &&
	      (errno == ENOKEY || errno == EACCES));
	return arg;
}

TEST(authority_over_a_key)
{
	in_thread(assume_authority);
	assume_authority(NULL);
}

/* Reads the caller's attributes by the system call and from their file. */
static void *ask_security_module(void *arg)
{
	char label[4096], by_file[4096];
	uint32_t bytes = sizeof(label);
	long nr =
		syscall(LSM_GET_SELF_ATTR, LSM_ATTR_CURRENT, label, &bytes, 0);
	int err = errno, fd;

	CHECK(nr > 0 || err == ENOSYS || err == EOPNOTSUPP);
	CHECK_EQ(syscall(LSM_SET_SELF_ATTR, LSM_ATTR_CURRENT, label, 0, 0), -1);
	if (nr <= 0)
		SKIP("no security module has attributes");
	fd = open("/proc/thread-self/attr/current", O_RDONLY);
	CHECK(fd >= 0);
	CHECK(read(fd, by_file, sizeof(by_file)) > 0);
	close(fd);
	yield_often();
	return arg;
}

TEST(security_modules)
{
	ask_security_module(NULL);
	in_thread(ask_security_module);
}

static long cookie_of(pid_t id, unsigned long *ret_cookie)
{
	return prctl(SCHED_CORE, SCHED_CORE_GET, id, SCHED_CORE_OF_THREAD,
		     ret_cookie);
}

static void *make_cookie(void *arg)
{
	unsigned long cookie = 0;

	CHECK_EQ(prctl(SCHED_CORE, SCHED_CORE_CREATE, gettid(),
		       SCHED_CORE_OF_THREAD, 0),
		 0);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cookie_of(gettid(), &cookie), 0);
		CHECK(cookie != 0);
		yield_often();
	}
	return arg;
}

TEST(core_of_a_thread)
{
	unsigned long cookie = 0;

	if (cookie_of(getpid(), &cookie) != 0) {
		CHECK(errno == EINVAL || errno == ENODEV);
		SKIP("the kernel or the CPU shares no cores");
	}
	in_thread(make_cookie);
	CHECK_EQ(cookie_of(getpid(), &cookie), 0);
	CHECK_EQ(cookie, 0);
}

/*
 * weft refuses a descriptor that belongs to one thread, and no other thread
 * gets its signals.
 */
static void *own_descriptor(void *arg)
{
	struct f_owner_ex owner = { F_OWNER_TID, gettid() }, before, now;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(fcntl(ends[0], F_GETOWN_EX, &before), 0);
	if (is_on_weft()) {
		CHECK_ERRNO(fcntl(ends[0], F_SETOWN_EX, &owner), ESRCH);
		owner = before;
	} else {
		CHECK_EQ(fcntl(ends[0], F_SETOWN_EX, &owner), 0);
	}
	CHECK_EQ(fcntl(ends[0], F_GETOWN_EX, &now), 0);
	CHECK_EQ(now.pid, owner.pid);
	close(ends[0]);
	close(ends[1]);
	return arg;
}

TEST(descriptor_that_signals_a_thread)
{
	in_thread(own_descriptor);
}

/* Returns -1 if the file does not exist or may not be read. */
static int open_threads_of_group(void)
{
	char line[512], path[640];
	FILE *f = fopen("/proc/self/cgroup", "r");
	int fd = -1;

	while (f != NULL && fd < 0 && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cgroup.threads",
			 line + 3);
		fd = open(path, O_WRONLY);
	}
	if (f != NULL)
		fclose(f);
	return fd;
}

static void *enter_group(void *arg)
{
	int fd = *(int *)arg;
	char id[16];
	int bytes = snprintf(id, sizeof(id), "%d", (int)gettid());

	if (is_on_weft())
		CHECK_ERRNO(write(fd, id, (size_t)bytes), ESRCH);
	else
		CHECK_EQ(write(fd, id, (size_t)bytes), bytes);
	return arg;
}

TEST(control_group_of_a_thread)
{
	int fd = open_threads_of_group();

	if (fd < 0)
		SKIP("no file cgroup.threads that may be written");
	thread_join(thread_start(enter_group, &fd));
	close(fd);
}
