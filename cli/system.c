/* SPDX-License-Identifier: MIT */
/*
 * Each row tries the feature and reports what the kernel answers. A version
 * number would not do: containers, seccomp filters, limits and sysctls refuse
 * calls that the kernel has. Tries that could change this process, such as a
 * ring or a kernel thread, are undone at once or made in a child.
 */
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <sys/platform/x86.h>
#endif
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "glibc.h"
#include "base/options.h"
#include "os/cpus.h"
#include "os/uring.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* The first glibc version that weft supports. */
#define LEAST_GLIBC_MINOR 34

/*
 * The kernel threads without which weft cannot start: the monitor and the
 * signal receiver thread. More VPs, spare carriers and I/O workers are made
 * later, if the limits allow.
 */
#define LEAST_KERNEL_THREADS 2

/* Enough for carriers and the largest number of I/O workers. */
#define ENOUGH_KERNEL_THREADS 256

#define TRIAL_STACK_BYTES ((size_t)64 * 1024)

#define say(text, ...) snprintf((text), WF_SYSTEM_TEXT, __VA_ARGS__)

/* Reads a number from a file of one line; -1 if that fails. */
static long read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	long n = -1;

	if (f == NULL)
		return -1;
	if (fscanf(f, "%ld", &n) != 1)
		n = -1;
	fclose(f);
	return n;
}

static bool ask_kernel(char *text)
{
	struct utsname u;

	if (uname(&u) == 0)
		say(text, "Linux %s on %s", u.release, u.machine);
	return true;
}

/* --- CPUs --- */

static bool ask_cpus(char *text)
{
	uint32_t nr = wf_os_cpus_allowed(0), quota = wf_os_cpus_quota("");
	uint32_t vps = quota != 0 && quota < nr ? quota : nr;
	char limit[64] = "no cgroup quota";

	if (quota != 0)
		snprintf(limit, sizeof(limit), "a cgroup quota of %u", quota);
	say(text, "%u allowed, %s, so %u virtual processor%s", nr, limit, vps,
	    vps == 1 ? "" : "s");
	return true;
}

#ifdef __x86_64__
static bool ask_fsgsbase(char *text)
{
	say(text, "%s",
	    (getauxval(AT_HWCAP2) & 2) != 0 ?
		    "yes: threads switch without a system call" :
		    "no: each switch costs a system call");
	return true;
}

static bool ask_avx(char *text)
{
	const char *best = "no AVX";

	if (CPU_FEATURE_ACTIVE(AVX512F))
		best = "AVX-512";
	else if (CPU_FEATURE_ACTIVE(AVX2))
		best = "AVX2";
	else if (CPU_FEATURE_ACTIVE(AVX))
		best = "AVX";
	say(text, "%s: a preempted thread's registers take up to %lu bytes",
	    best, getauxval(AT_MINSIGSTKSZ));
	return true;
}
#endif

/* --- the C library --- */

static bool ask_glibc(char *text)
{
	char version[32];

	if (!wf_glibc_version(version, sizeof(version))) {
		say(text, "no glibc in its usual places: programs that need "
			  "one cannot run");
		return false;
	}
	if (strncmp(version, "2.", 2) != 0 ||
	    atoi(version + 2) < LEAST_GLIBC_MINOR) {
		say(text, "glibc %s: weft needs 2.%d", version,
		    LEAST_GLIBC_MINOR);
		return false;
	}
	say(text, "glibc %s", version);
	return true;
}

static bool ask_tls(char *text)
{
	static const char tunable[] = "glibc.rtld.optional_static_tls=";
	const char *tunables = getenv("GLIBC_TUNABLES");
	const char *found = tunables != NULL ? strstr(tunables, tunable) : NULL;

	if (found != NULL)
		say(text, "%lu bytes, by GLIBC_TUNABLES",
		    strtoul(found + strlen(tunable), NULL, 0));
	else
		say(text, "glibc's default of 512 bytes for libraries loaded "
			  "later; weft takes none of it");
	return true;
}

/* --- the kernel --- */

static bool ask_membarrier(char *text)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	bool has = commands >= 0 &&
		   (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;

	say(text, "%s",
	    has ? "yes: VPs are taken from threads that block in the kernel" :
		  "no: threads that block in the kernel hold up others");
	return true;
}

static bool ask_guards(char *text)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool ok = p != MAP_FAILED && madvise(p, page, MADV_GUARD_INSTALL) == 0;

	if (ok)
		say(text, "MADV_GUARD_INSTALL: they cost no mapping");
	else
		say(text, "mprotect: vm.max_map_count, %ld, limits them",
		    read_number("/proc/sys/vm/max_map_count"));
	if (p != MAP_FAILED)
		munmap(p, page);
	return true;
}

static bool ask_rseq(char *text)
{
	long r = syscall(SYS_rseq, NULL, 0, 0, 0);

	say(text, "%s",
	    r < 0 && errno == ENOSYS ?
		    "not there, and not needed" :
		    "there, and not used: threads change kernel threads");
	return true;
}

/* Makes a ring as a VP does. Returns 0 or -Exxx. */
static int try_io_uring(bool *ret_may_move)
{
	struct wf_uring ring;
	int err = wf_uring_init(&ring, 1, 0);

	if (err < 0)
		return err;
	if (!wf_uring_suffices(&ring))
		err = -ENOSYS;
	*ret_may_move = wf_uring_gives_up_surely(&ring);
	wf_uring_destroy(&ring);
	return err;
}

static bool ask_io_uring(char *text)
{
	long disabled = read_number("/proc/sys/kernel/io_uring_disabled");
	bool may_move = false;
	int err = try_io_uring(&may_move);

	if (err == 0)
		say(text, "%s",
		    may_move ? "allowed" :
			       "allowed; before Linux 6.14 waits are delayed "
			       "while a thread of the same virtual processor "
			       "sleeps for a disk");
	else if (err == -ENOSYS || err == -EINVAL)
		say(text, "the kernel has none, or one that can do too little");
	else
		say(text, "refused (%s%s)", strerror(-err),
		    disabled > 0 ? ", sysctl kernel.io_uring_disabled" : "");
	return true;
}

static int leave(void *arg)
{
	return 0;
}

/* Makes a process as an I/O server is made. 0 or -Exxx. */
static int try_server_process(void)
{
	enum { STACK_BYTES = 64 * 1024 };
	char *stack = malloc(STACK_BYTES);
	int err = -ENOMEM;
	pid_t pid;

	if (stack == NULL)
		return err;
	pid = clone(leave, stack + STACK_BYTES,
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM, NULL);
	err = pid < 0 ? -errno : 0;
	if (pid > 0)
		waitpid(pid, NULL, __WCLONE);
	free(stack);
	return err;
}

static void say_process(char *text)
{
	int err = try_server_process();

	if (err == 0)
		say(text, "process, as WEFT_IO asks: a kernel thread waits for "
			  "descriptors, processes make calls that block");
	else
		say(text,
		    "workers: WEFT_IO asks for processes that share "
		    "memory, which the kernel refuses (%s)",
		    strerror(-err));
}

static bool ask_backend(char *text)
{
	struct wf_options o = { .io = WF_IO_URING };
	struct wf_option_fault fault;
	bool may_move;

	wf_options_load_env(&o, environ, &fault);
	if (o.io == WF_IO_PROCESS)
		say_process(text);
	else if (o.io == WF_IO_WORKERS)
		say(text, "workers, as WEFT_IO asks: kernel threads wait for "
			  "descriptors");
	else if (try_io_uring(&may_move) == 0)
		say(text, "uring: io_uring waits for descriptors");
	else
		say(text, "workers, for want of io_uring: kernel threads wait "
			  "for descriptors");
	return true;
}

/* --- limits --- */

/*
 * Writes "N: TEXT". The text is `fine`, or `few` if the limit is below
 * `enough`.
 */
static void say_limit(char *text, int resource, const char *fine, rlim_t enough,
		      const char *few)
{
	struct rlimit r;

	if (getrlimit(resource, &r) < 0)
		return;
	if (r.rlim_cur == RLIM_INFINITY)
		say(text, "unlimited: %s", fine);
	else
		say(text, "%llu: %s", (unsigned long long)r.rlim_cur,
		    r.rlim_cur < enough ? few : fine);
}

static bool ask_stack(char *text)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_STACK, &r) < 0)
		return true;
	if (r.rlim_cur == RLIM_INFINITY)
		say(text, "unlimited: threads get stacks of 8192 KiB");
	else
		say(text, "threads get stacks of %llu KiB of address space",
		    (unsigned long long)r.rlim_cur / 1024);
	return true;
}

static bool ask_address_space(char *text)
{
	say_limit(text, RLIMIT_AS, "no limit on the number of stacks",
		  (rlim_t)1 << 40, "limits the number of stacks");
	return true;
}

static void *await_release(void *release)
{
	pthread_mutex_lock(release);
	pthread_mutex_unlock(release);
	return NULL;
}

/*
 * Makes up to `most` kernel threads. Returns how many were made, and stores why
 * there are no more. Only a trial shows the number. All processes of the user
 * and of the control group count against the limits, some users are exempt, and
 * filters may refuse.
 */
static int try_kernel_threads(int most, int *ret_err)
{
	pthread_mutex_t release = PTHREAD_MUTEX_INITIALIZER;
	pthread_t *made = calloc((size_t)most, sizeof(*made));
	pthread_attr_t attr;
	int nr = 0, err = made == NULL ? ENOMEM : 0;

	*ret_err = err;
	if (err != 0)
		return 0;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, TRIAL_STACK_BYTES);
	pthread_mutex_lock(&release);
	while (nr < most && err == 0) {
		err = pthread_create(&made[nr], &attr, await_release, &release);
		nr += err == 0;
	}
	*ret_err = err;
	pthread_mutex_unlock(&release);
	for (int i = 0; i < nr; i++)
		pthread_join(made[i], NULL);
	pthread_attr_destroy(&attr);
	free(made);
	return nr;
}

static bool ask_kernel_threads(char *text)
{
	int err, nr = try_kernel_threads(ENOUGH_KERNEL_THREADS, &err);

	if (err == EPERM || err == ENOSYS)
		say(text,
		    "%d can be made, then the kernel refuses (%s): a seccomp "
		    "filter most likely, for clone3 or clone",
		    nr, strerror(err));
	else if (nr >= ENOUGH_KERNEL_THREADS)
		say_limit(text, RLIMIT_NPROC,
			  "enough for threads that block (RLIMIT_NPROC)", 0,
			  "");
	else if (nr >= LEAST_KERNEL_THREADS)
		say(text,
		    "%d at most can be made now: threads that block in the "
		    "kernel may hold up others",
		    nr);
	else
		say(text,
		    "%d at most can be made now: weft needs %d kernel threads "
		    "to start",
		    nr, LEAST_KERNEL_THREADS);
	return nr >= LEAST_KERNEL_THREADS;
}

static bool ask_sigpending(char *text)
{
	say_limit(text, RLIMIT_SIGPENDING,
		  "enough for timers and signals of kernel threads", 64,
		  "preemption may lack its timers");
	return true;
}

const struct wf_system_row wf_system_rows[] = {
	{ "kernel", ask_kernel },
	{ "C library", ask_glibc },
	{ "TLS surplus", ask_tls },
	{ "CPUs", ask_cpus },
#ifdef __x86_64__
	{ "FSGSBASE", ask_fsgsbase },
	{ "vector registers", ask_avx },
#endif
	{ "membarrier", ask_membarrier },
	{ "stack guards", ask_guards },
	{ "rseq", ask_rseq },
	{ "io_uring", ask_io_uring },
	{ "I/O backend", ask_backend },
	{ "RLIMIT_STACK", ask_stack },
	{ "RLIMIT_AS", ask_address_space },
	{ "kernel threads", ask_kernel_threads },
	{ "RLIMIT_SIGPENDING", ask_sigpending },
};
const size_t wf_nr_system_rows =
	sizeof(wf_system_rows) / sizeof(wf_system_rows[0]);
