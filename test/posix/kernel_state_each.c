/* SPDX-License-Identifier: MIT */
/*
 * State that the kernel keeps per kernel thread, as a table. Threads set
 * different values and yield often. Each reads its own value back, and the
 * other threads still have the process's value. Both libc's function and
 * syscall() are used.
 */
#include <asm/prctl.h>
#include <linux/capability.h>
#include <linux/ioprio.h>
#include <linux/mempolicy.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "own_values.h"

int arch_prctl(int code, unsigned long value);
int capset(void *header, const void *data);
int capget(void *header, void *data);
int prctl(int option, ...);

/* --- prctl ---------------------------------------------------------------- */

#define OPTION(name, set_option, get_option, ...)                          \
	static long set_##name(long value)                                 \
	{                                                                  \
		return prctl(set_option, value, 0, 0, 0);                  \
	}                                                                  \
	static long sys_set_##name(long value)                             \
	{                                                                  \
		return syscall(SYS_prctl, set_option, value, 0, 0, 0);     \
	}                                                                  \
	static long get_##name(void)                                       \
	{                                                                  \
		return prctl(get_option, 0, 0, 0, 0);                      \
	}                                                                  \
	static const long values_##name[] = { __VA_ARGS__ };               \
	static void check_##name(long (*set)(long))                        \
	{                                                                  \
		struct state s = { set,                                    \
				   get_##name,                             \
				   { 0 },                                  \
				   sizeof(values_##name) / sizeof(long) }; \
                                                                           \
		memcpy(s.values, values_##name, sizeof(values_##name));    \
		check_each(&s);                                            \
	}                                                                  \
	TEST(option_##name)                                                \
	{                                                                  \
		check_##name(set_##name);                                  \
	}                                                                  \
	TEST(option_##name##_by_system_call)                               \
	{                                                                  \
		check_##name(sys_set_##name);                              \
	}

OPTION(timer_slack, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, 1000, 2000, 3000)
OPTION(keep_capabilities, PR_SET_KEEPCAPS, PR_GET_KEEPCAPS, 1)
OPTION(secure_bits, PR_SET_SECUREBITS, PR_GET_SECUREBITS, SECBIT_NOROOT,
       SECBIT_NO_SETUID_FIXUP, SECBIT_KEEP_CAPS)
OPTION(no_new_privileges, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, 1)
OPTION(io_flusher, PR_SET_IO_FLUSHER, PR_GET_IO_FLUSHER, 1)

static long get_int(int option)
{
	int value = -1;

	return prctl(option, &value, 0, 0, 0) < 0 ? -1 : value;
}

static long get_time_stamps(void)
{
	return get_int(PR_GET_TSC);
}

static long set_time_stamps(long value)
{
	return prctl(PR_SET_TSC, value, 0, 0, 0);
}

/* A thread without the counter must not read a clock: libc's clocks read it. */
TEST(option_time_stamps)
{
	check_each(&(struct state){
		set_time_stamps, get_time_stamps, { PR_TSC_SIGSEGV }, 1 });
}

static long get_death_signal(void)
{
	return get_int(PR_GET_PDEATHSIG);
}

static long set_death_signal(long value)
{
	return prctl(PR_SET_PDEATHSIG, value);
}

static const struct state death_signal = {
	set_death_signal, get_death_signal, { SIGUSR1, SIGUSR2, SIGHUP }, 3
};

TEST(option_death_signal)
{
	check_each(&death_signal);
}

/* The first thread has the death signal, and no other thread has it. */
TEST(option_death_signal_of_the_first)
{
	pthread_t others[NR_OTHERS];

	CHECK_EQ(set_death_signal(SIGUSR1), 0);
	state = &death_signal;
	threads_start(others, NR_OTHERS, has_before, NULL);
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(get_death_signal(), SIGUSR1);
		sched_yield();
	}
	threads_join(others, NR_OTHERS);
	CHECK_EQ(set_death_signal(SIGUSR2), 0);
	thread_join(thread_start(has_before, NULL));
	CHECK_EQ(get_death_signal(), SIGUSR2);
}

static long set_memory_errors(long value)
{
	return prctl(PR_MCE_KILL, PR_MCE_KILL_SET, value, 0, 0);
}

static long get_memory_errors(void)
{
	return prctl(PR_MCE_KILL_GET, 0, 0, 0, 0);
}

TEST(option_memory_errors)
{
	check_each(&(struct state){ set_memory_errors,
				    get_memory_errors,
				    { PR_MCE_KILL_EARLY, PR_MCE_KILL_LATE },
				    2 });
}

static long set_speculation(long value)
{
	return prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, value, 0,
		     0);
}

static long get_speculation(void)
{
	return prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0) &
	       ~PR_SPEC_PRCTL;
}

TEST(option_speculation)
{
	check_each(&(struct state){
		set_speculation, get_speculation, { PR_SPEC_DISABLE }, 1 });
}

static long drop_from_bounds(long value)
{
	/* Bit n of the value says that capability n is left. */
	return prctl(PR_CAPBSET_DROP, __builtin_ctzl(~value), 0, 0, 0);
}

static long get_bounds(void)
{
	long bounds = 0;

	for (long i = 0; i < 8; i++)
		bounds |= (long)(prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1) << i;
	return bounds;
}

TEST(option_capability_bounds)
{
	if (get_bounds() != 0xff)
		SKIP("capabilities are missing");
	check_each(&(struct state){
		drop_from_bounds, get_bounds, { 0xfe, 0xfd, 0xef }, 3 });
}

/* --- capabilities and users ----------------------------------------------- */

static struct __user_cap_header_struct header_of(pid_t id)
{
	return (struct __user_cap_header_struct){ _LINUX_CAPABILITY_VERSION_3,
						  id };
}

static long get_effective(void)
{
	struct __user_cap_header_struct h = header_of(0), by_id;
	struct __user_cap_data_struct d[2], same[2];

	by_id = header_of(gettid());
	CHECK_EQ(capget(&h, d), 0);
	CHECK_EQ(capget(&by_id, same), 0);
	CHECK_EQ(same[0].effective, d[0].effective);
	by_id = header_of(gettid());
	CHECK_EQ(syscall(SYS_capget, &by_id, same), 0);
	CHECK_EQ(same[0].effective, d[0].effective);
	return d[0].effective & 0xff;
}

static long set_effective_of(pid_t id, long value, bool is_by_system_call)
{
	struct __user_cap_header_struct h = header_of(0);
	struct __user_cap_data_struct d[2];

	CHECK_EQ(capget(&h, d), 0);
	h = header_of(id);
	d[0].effective = (d[0].effective & ~0xffU) | (uint32_t)value;
	return is_by_system_call ? syscall(SYS_capset, &h, d) : capset(&h, d);
}

static long set_effective(long value)
{
	return set_effective_of(0, value, false);
}

static long set_effective_by_id(long value)
{
	return set_effective_of(gettid(), value, true);
}

static void check_effective(long (*set)(long))
{
	if (get_effective() != 0xff)
		SKIP("capabilities are missing");
	check_each(
		&(struct state){ set, get_effective, { 0xfe, 0xfd, 0xef }, 3 });
}

TEST(capabilities)
{
	check_effective(set_effective);
}

TEST(capabilities_by_own_id)
{
	check_effective(set_effective_by_id);
}

static long get_file_user(void)
{
	return setfsuid((uid_t)-1);
}

static long get_file_group(void)
{
	return syscall(SYS_setfsgid, -1);
}

static long set_file_user(long value)
{
	return syscall(SYS_setfsuid, value);
}

static long set_file_group(long value)
{
	return setfsgid((gid_t)value);
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
}

TEST(file_system_user)
{
	need_root();
	check_each(&(struct state){
		set_file_user, get_file_user, { 1001, 1002, 1003 }, 3 });
}

TEST(file_system_group)
{
	need_root();
	check_each(&(struct state){
		set_file_group, get_file_group, { 1001, 1002, 1003 }, 3 });
}

static long set_groups(long value)
{
	gid_t group = (gid_t)value;

	return syscall(SYS_setgroups, 1, &group);
}

static long get_groups(void)
{
	gid_t group = 0;

	return getgroups(1, &group) == 1 ? (long)group : 0;
}

static long set_group(long value)
{
	return syscall(SYS_setregid, value, -1);
}

static long get_group(void)
{
	return getgid();
}

TEST(groups_by_system_call)
{
	need_root();
	CHECK_EQ(syscall(SYS_setgroups, 0, NULL), 0);
	check_each(&(struct state){
		set_groups, get_groups, { 1001, 1002, 1003 }, 3 });
	check_each(&(struct state){
		set_group, get_group, { 1001, 1002, 1003 }, 3 });
}

/* --- other state ---------------------------------------------------------- */

static long set_persona(long value)
{
	return personality((unsigned long)value);
}

static long get_persona(void)
{
	return personality(0xffffffff);
}

TEST(personalities)
{
	check_each(&(struct state){
		set_persona,
		get_persona,
		{ ADDR_NO_RANDOMIZE, ADDR_COMPAT_LAYOUT, SHORT_INODE },
		3 });
}

static long set_memory_policy(long value)
{
	unsigned long node_0 = 1;

	return syscall(SYS_set_mempolicy, value, &node_0, 64);
}

static long get_memory_policy(void)
{
	int mode = -1;

	return syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) < 0 ? -1 :
									 mode;
}

TEST(memory_policies)
{
	check_each(
		&(struct state){ set_memory_policy,
				 get_memory_policy,
				 { MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE },
				 3 });
}

static long set_io_priority(long value)
{
	return syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, value);
}

static long get_io_priority(void)
{
	return syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, gettid());
}

TEST(io_priorities)
{
	check_each(&(struct state){ set_io_priority,
				    get_io_priority,
				    { IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 1),
				      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 6),
				      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0) },
				    3 });
}

static long set_nice_value(long value)
{
	return setpriority(PRIO_PROCESS, 0, (int)value);
}

static long get_nice_value(void)
{
	return getpriority(PRIO_PROCESS, (id_t)gettid());
}

TEST(nice_values)
{
	if (get_nice_value() > 10)
		SKIP("the nice value is high already");
	check_each(&(struct state){
		set_nice_value, get_nice_value, { 17, 18, 19 }, 3 });
}

static long set_cpu_identification(long value)
{
	return arch_prctl(ARCH_SET_CPUID, (unsigned long)value);
}

static long get_cpu_identification(void)
{
	return arch_prctl(ARCH_GET_CPUID, 0);
}

TEST(cpu_identification)
{
	check_each(&(struct state){
		set_cpu_identification, get_cpu_identification, { 0 }, 1 });
}
