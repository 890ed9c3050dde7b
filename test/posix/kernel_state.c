/* SPDX-License-Identifier: MIT */
/*
 * State that the kernel keeps per kernel thread: one thread changes it, the
 * threads that it creates inherit it, and no other thread sees the change.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/capability.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <semaphore.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "kernel_threads.h"
#include "threading.h"

enum { NR_OTHERS = 8, NR_YIELDS = 100 };

/* A kind of state, with functions that change and read it. */
struct state {
	void (*change)(void);
	long (*get)(void);
};

static long before, after;

static void *has_after(void *arg)
{
	const struct state *s = arg;

	CHECK_EQ(s->get(), after);
	return NULL;
}

static void *change_and_look(void *arg)
{
	const struct state *s = arg;

	s->change();
	after = s->get();
	CHECK(after != before);
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		CHECK_EQ(s->get(), after);
	}
	thread_join(thread_start(has_after, arg));
	return NULL;
}

static void *has_before(void *arg)
{
	const struct state *s = arg;

	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(s->get(), before);
		sched_yield();
	}
	return NULL;
}

static void check_state(const struct state *s)
{
	pthread_t changer, others[NR_OTHERS];

	before = s->get();
	threads_start(others, NR_OTHERS / 2, has_before, (void *)s);
	changer = thread_start(change_and_look, (void *)s);
	threads_start(others + NR_OTHERS / 2, NR_OTHERS / 2, has_before,
		      (void *)s);
	thread_join(changer);
	threads_join(others, NR_OTHERS);
	thread_join(thread_start(has_before, (void *)s));
	has_before((void *)s);
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
}

static void change_fsuid(void)
{
	setfsuid(1234);
}

static long get_fsuid(void)
{
	return setfsuid((uid_t)-1);
}

TEST(file_system_user)
{
	need_root();
	check_state(&(struct state){ change_fsuid, get_fsuid });
}

static void change_uid(void)
{
	CHECK_EQ(syscall(SYS_setresuid, 1234, 1234, 0), 0);
}

static long get_uid(void)
{
	return syscall(SYS_getuid);
}

TEST(user_by_system_call)
{
	need_root();
	check_state(&(struct state){ change_uid, get_uid });
	/* A thread that has ended must not be in the way of this call. */
	CHECK_EQ(setresuid(2000, 2000, 2000), 0);
	CHECK_EQ(get_uid(), 2000);
}

static void change_personality(void)
{
	CHECK(personality(ADDR_NO_RANDOMIZE) >= 0);
}

static long get_personality(void)
{
	return personality(0xffffffff);
}

TEST(persona)
{
	check_state(&(struct state){ change_personality, get_personality });
}

int arch_prctl(int code, unsigned long value);

static void change_base(void)
{
	static _Thread_local long own;

	own = (long)&own;
	CHECK_EQ(arch_prctl(ARCH_SET_GS, (unsigned long)&own), 0);
}

static long get_base(void)
{
	long base = -1;

	CHECK_EQ(syscall(SYS_arch_prctl, ARCH_GET_GS, &base), 0);
	return base;
}

/* Some programs keep thread-local data at the gs base, for example Wine. */
TEST(base_of_gs)
{
	check_state(&(struct state){ change_base, get_base });
}

static void confine(void)
{
	const struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_DIR,
	};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr,
				 sizeof(attr), 0);

	if (rules < 0)
		SKIP("the kernel has no landlock");
	CHECK_EQ(syscall(SYS_landlock_restrict_self, rules, 0), 0);
	close(rules);
}

static long read_directory(void)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

TEST(rules_of_landlock)
{
	need_root();
	check_state(&(struct state){ confine, read_directory });
}

static void join_keyring(void)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		SKIP("session keyrings are not allowed");
}

static long get_keyring(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID,
		       KEY_SPEC_SESSION_KEYRING, 0);
}

TEST(session_keyring)
{
	check_state(&(struct state){ join_keyring, get_keyring });
}

static void change_directory(void)
{
	if (unshare(CLONE_FS) != 0)
		SKIP("unshare is not allowed");
	CHECK_EQ(chdir("/proc"), 0);
}

static long get_directory(void)
{
	char path[4096];

	CHECK(getcwd(path, sizeof(path)) != NULL);
	return strcmp(path, "/proc");
}

TEST(own_directory)
{
	check_state(&(struct state){ change_directory, get_directory });
}

static int closed_fd;

static void change_descriptors(void)
{
	CHECK_EQ(close_range((unsigned int)closed_fd, (unsigned int)closed_fd,
			     CLOSE_RANGE_UNSHARE),
		 0);
}

static long get_descriptors(void)
{
	return fcntl(closed_fd, F_GETFD) >= 0;
}

TEST(own_descriptors)
{
	closed_fd = open("/dev/null", O_RDONLY);
	check_state(&(struct state){ change_descriptors, get_descriptors });
	CHECK_EQ(close(closed_fd), 0);
}

/* Copies the descriptor table, then closes one descriptor in the copy. */
static void change_table(void)
{
	unsigned int fd = (unsigned int)closed_fd;

	CHECK_EQ(close_range(~0U, ~0U, CLOSE_RANGE_UNSHARE), 0);
	CHECK_EQ(close_range(fd, fd, 0), 0);
}

TEST(private_table)
{
	closed_fd = open("/dev/null", O_RDONLY);
	check_state(&(struct state){ change_table, get_descriptors });
	CHECK_EQ(close(closed_fd), 0);
}

static void change_host(void)
{
	int fd = open("/proc/thread-self/ns/uts", O_RDONLY);

	CHECK(fd >= 0);
	if (unshare(CLONE_NEWUTS) != 0)
		SKIP("namespaces are not allowed");
	CHECK_EQ(setns(fd, CLONE_NEWUTS), 0);
	CHECK_EQ(unshare(CLONE_NEWUTS), 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(sethostname("other", 5), 0);
}

static long get_host(void)
{
	char name[65] = "";

	CHECK_EQ(gethostname(name, sizeof(name) - 1), 0);
	return strcmp(name, "other");
}

TEST(own_namespace)
{
	need_root();
	check_state(&(struct state){ change_host, get_host });
}

static void *return_arg(void *arg)
{
	return arg;
}

static void *leave_namespace(void *arg)
{
	pthread_t t;

	if (unshare(CLONE_NEWPID) != 0)
		SKIP("namespaces are not allowed");
	CHECK_EQ(pthread_create(&t, NULL, return_arg, NULL), EINVAL);
	return arg;
}

/* unshare(CLONE_NEWPID) puts only later children into the namespace. */
TEST(threads_of_another_namespace)
{
	need_root();
	thread_join(thread_start(leave_namespace, NULL));
	thread_join(thread_start(return_arg, NULL));
}

static void change_slack(void)
{
	CHECK_EQ(prctl(PR_SET_TIMERSLACK, 123456), 0);
}

static long get_slack(void)
{
	return prctl(PR_GET_TIMERSLACK);
}

TEST(timer_slack)
{
	check_state(&(struct state){ change_slack, get_slack });
}

static void change_privileges(void)
{
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
}

static long get_privileges(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

TEST(no_new_privileges)
{
	check_state(&(struct state){ change_privileges, get_privileges });
}

extern int capset(void *header, const void *data);

static long get_capabilities(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	CHECK_EQ(syscall(SYS_capget, &h, d), 0);
	return d[0].effective;
}

static void drop_capability(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	CHECK_EQ(syscall(SYS_capget, &h, d), 0);
	d[0].effective &= ~(1U << CAP_CHOWN);
	CHECK_EQ(capset(&h, d), 0);
}

TEST(capabilities)
{
	need_root();
	check_state(&(struct state){ drop_capability, get_capabilities });
}

static void change_nice(void)
{
	CHECK_EQ(nice(3), before + 3);
	CHECK_EQ(setpriority(PRIO_PROCESS, gettid(), (int)before + 5), 0);
}

static long get_nice(void)
{
	CHECK_EQ(getpriority(PRIO_PROCESS, gettid()),
		 getpriority(PRIO_PROCESS, 0));
	return getpriority(PRIO_PROCESS, 0);
}

TEST(nice_values)
{
	if (getpriority(PRIO_PROCESS, 0) > 14)
		CHECK_EQ(setpriority(PRIO_PROCESS, 0, 10), 0);
	check_state(&(struct state){ change_nice, get_nice });
}

enum { NR_NICE = 100 };

static _Atomic int nr_nice;
static sem_t may_end;

static void *set_nice_as_it_is(void *arg)
{
	int is = getpriority(PRIO_PROCESS, 0);

	CHECK_EQ(setpriority(PRIO_PROCESS, (id_t)gettid(), is), 0);
	CHECK_EQ(nice(0), is);
	nr_nice++;
	CHECK_EQ(sem_wait(&may_end), 0);
	return NULL;
}

/* NSPR's threads set the nice value that they already have. */
TEST(nice_values_that_do_not_change)
{
	pthread_t threads[NR_NICE];
	bool are_few;

	CHECK_EQ(sem_init(&may_end, 0, 0), 0);
	threads_start(threads, NR_NICE, set_nice_as_it_is, NULL);
	await_count(&nr_nice, NR_NICE);
	are_few = kernel_threads_are_fewer_than(NR_NICE);
	for (int i = 0; i < NR_NICE; i++)
		CHECK_EQ(sem_post(&may_end), 0);
	threads_join(threads, NR_NICE);
	CHECK(are_few);
}

static void change_io_priority(void)
{
	CHECK_EQ(syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
			 IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7)),
		 0);
}

static long get_io_priority(void)
{
	return syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, gettid());
}

TEST(io_priority)
{
	check_state(&(struct state){ change_io_priority, get_io_priority });
}

TEST(all_memory_locked)
{
	pthread_t t[NR_OTHERS];

	have_threads();
	if (mlockall(MCL_CURRENT) != 0)
		SKIP("locking memory is not allowed");
	threads_start(t, NR_OTHERS, thread_yield_often, NULL);
	threads_join(t, NR_OTHERS);
	CHECK_EQ(munlockall(), 0);
}

static void *own_name(void *arg)
{
	char name[16] = "";

	CHECK_EQ(prctl(PR_SET_NAME, arg), 0);
	sched_yield();
	CHECK_EQ(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
	CHECK(strcmp(name, arg) == 0);
	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK(strcmp(name, arg) == 0);
	return NULL;
}

TEST(names_by_prctl)
{
	pthread_t a = thread_start(own_name, "first");
	pthread_t b = thread_start(own_name, "second");

	thread_join(a);
	thread_join(b);
}
