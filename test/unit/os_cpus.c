/* SPDX-License-Identifier: MIT */
/*
 * src/os/cpus.c: CPU quotas in faked trees of files, and the real system's
 * quota.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "os/cpus.h"

static char root[] = "/tmp/weft-cpus-XXXXXX";

static int remove_entry(const char *path, const struct stat *st, int kind,
			struct FTW *where)
{
	return strcmp(path, root) == 0 ? 0 : remove(path);
}

static void empty_tree(void)
{
	nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the file and its parent folders. */
static void write_file(const char *path, const char *text)
{
	char whole[8192];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *s = whole + strlen(root) + 1; *s != '\0'; s++) {
		if (*s != '/')
			continue;
		*s = '\0';
		if (mkdir(whole, 0777) < 0)
			assert_int_equal(errno, EEXIST);
		*s = '/';
	}
	file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

#define V2_MOUNT                                                    \
	"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 " \
	"cgroup2 rw,nsdelegate\n"
#define V1_MOUNT                                                      \
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup " \
	"rw,cpu,cpuacct\n"
#define V1 "/sys/fs/cgroup/cpu,cpuacct"
#define OTHER_MOUNTS                                              \
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" \
	"23 22 0:21 / /proc rw - proc proc rw\n"                  \
	"33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"

struct file {
	const char *path, *text;
};

struct quota_case {
	const char *what;
	const char *groups, *mounts;
	uint32_t quota;
	struct file files[5];
};

static const struct quota_case quota_cases[] = {
	{ "no files", NULL, NULL, 0, { { 0 } } },
	{ "no mounts", "0::/\n", NULL, 0, { { 0 } } },
	{ "no group", NULL, V2_MOUNT, 0, { { 0 } } },
	{ "version 2, none",
	  "0::/a\n",
	  OTHER_MOUNTS V2_MOUNT,
	  0,
	  { { "/sys/fs/cgroup/a/cpu.max", "max 100000\n" } } },
	{ "version 2, no such file", "0::/a\n", V2_MOUNT, 0, { { 0 } } },
	{ "version 2",
	  "0::/a\n",
	  OTHER_MOUNTS V2_MOUNT,
	  2,
	  { { "/sys/fs/cgroup/a/cpu.max", "200000 100000\n" } } },
	{ "rounded up",
	  "0::/a\n",
	  V2_MOUNT,
	  3,
	  { { "/sys/fs/cgroup/a/cpu.max", "200001 100000\n" } } },
	{ "less than one",
	  "0::/a\n",
	  V2_MOUNT,
	  1,
	  { { "/sys/fs/cgroup/a/cpu.max", "1000 100000\n" } } },
	{ "an ancestor has less",
	  "0::/a/b c/d\n",
	  V2_MOUNT,
	  2,
	  { { "/sys/fs/cgroup/a/b c/d/cpu.max", "800000 100000\n" },
	    { "/sys/fs/cgroup/a/b c/cpu.max", "max 100000\n" },
	    { "/sys/fs/cgroup/a/cpu.max", "150000 100000\n" } } },
	{ "an ancestor has more",
	  "0::/a/b\n",
	  V2_MOUNT,
	  1,
	  { { "/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n" },
	    { "/sys/fs/cgroup/a/cpu.max", "150000 100000\n" } } },
	{ "the mount's top counts",
	  "0::/a\n",
	  V2_MOUNT,
	  4,
	  { { "/sys/fs/cgroup/cpu.max", "400000 100000\n" } } },
	{ "nothing above it does",
	  "0::/a\n",
	  V2_MOUNT,
	  0,
	  { { "/sys/fs/cpu.max", "400000 100000\n" } } },
	{ "a sibling does not",
	  "0::/a/b\n",
	  V2_MOUNT,
	  0,
	  { { "/sys/fs/cgroup/a/c/cpu.max", "400000 100000\n" },
	    { "/sys/fs/cgroup/a/b/cpu.weight", "100\n" } } },
	{ "the root group",
	  "0::/\n",
	  V2_MOUNT,
	  5,
	  { { "/sys/fs/cgroup/cpu.max", "500000 100000\n" } } },
	{ "a mount that shows a group's part",
	  "0::/docker/x/y\n",
	  "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 none rw\n",
	  2,
	  { { "/sys/fs/cgroup/y/cpu.max", "200000 100000\n" },
	    { "/sys/fs/cgroup/cpu.max", "300000 100000\n" },
	    { "/sys/fs/cgroup/docker/x/cpu.max", "100000 100000\n" } } },
	{ "a group outside of it",
	  "0::/docker/xy\n",
	  "30 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 none rw\n",
	  3,
	  { { "/sys/fs/cgroup/cpu.max", "300000 100000\n" },
	    { "/sys/fs/cgroupy/cpu.max", "100000 100000\n" } } },
	{ "a group above a name space",
	  "0::/../b\n",
	  V2_MOUNT,
	  3,
	  { { "/sys/fs/cgroup/cpu.max", "300000 100000\n" },
	    { "/sys/fs/b/cpu.max", "100000 100000\n" } } },
	{ "right above it",
	  "0::/..\n",
	  V2_MOUNT,
	  0,
	  { { "/sys/fs/cpu.max", "100000 100000\n" },
	    { "/sys/fs/cgroup/x", "" } } },
	{ "escapes in the mount point",
	  "0::/a\n",
	  "30 23 0:26 / /c\\040g\\134 rw - cgroup2 none rw\n",
	  6,
	  { { "/c g\\/a/cpu.max", "600000 100000\n" } } },
	{ "version 1",
	  "4:cpuset:/z\n2:cpu,cpuacct:/a\n0::/\n",
	  OTHER_MOUNTS V1_MOUNT,
	  3,
	  { { V1 "/a/cpu.cfs_quota_us", "250000\n" },
	    { V1 "/a/cpu.cfs_period_us", "100000\n" } } },
	{ "version 1, none",
	  "2:cpuacct,cpu:/a\n",
	  V1_MOUNT,
	  0,
	  { { V1 "/a/cpu.cfs_quota_us", "-1\n" },
	    { V1 "/a/cpu.cfs_period_us", "100000\n" } } },
	{ "version 1, an ancestor",
	  "2:cpu:/a/b\n",
	  V1_MOUNT,
	  1,
	  { { V1 "/a/b/cpu.cfs_quota_us", "-1\n" },
	    { V1 "/a/b/cpu.cfs_period_us", "50000\n" },
	    { V1 "/a/cpu.cfs_quota_us", "50000\n" },
	    { V1 "/a/cpu.cfs_period_us", "50000\n" } } },
	{ "cpuacct is another controller",
	  "2:cpuacct:/a\n",
	  V1_MOUNT,
	  0,
	  { { V1 "/a/cpu.cfs_quota_us", "250000\n" },
	    { V1 "/a/cpu.cfs_period_us", "100000\n" } } },
	{ "both versions, the lesser",
	  "2:cpu:/a\n0::/b\n",
	  V1_MOUNT V2_MOUNT,
	  2,
	  { { V1 "/a/cpu.cfs_quota_us", "250000\n" },
	    { V1 "/a/cpu.cfs_period_us", "100000\n" },
	    { "/sys/fs/cgroup/b/cpu.max", "200000 100000\n" } } },
	{ "malformed",
	  "nonsense\n0:\n\n0::/a\n",
	  "30\n- -\n30 23 0:26 / /x rw - cgroup2\n" V2_MOUNT,
	  0,
	  { { "/sys/fs/cgroup/a/cpu.max", "20000x 100000\n" },
	    { "/sys/fs/cgroup/cpu.max", "200000\n" } } },
	{ "huge",
	  "0::/a\n",
	  V2_MOUNT,
	  UINT32_MAX,
	  { { "/sys/fs/cgroup/a/cpu.max", "18446744073709551615 1\n" },
	    { "/sys/fs/cgroup/cpu.max", "99999999999999999999999 1\n" } } },
};

static void quotas(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_LEN(quota_cases); i++) {
		const struct quota_case *c = &quota_cases[i];
		uint32_t quota;

		empty_tree();
		if (c->groups != NULL)
			write_file("/proc/self/cgroup", c->groups);
		if (c->mounts != NULL)
			write_file("/proc/self/mountinfo", c->mounts);
		for (size_t k = 0; k < WF_ARRAY_LEN(c->files); k++) {
			if (c->files[k].path != NULL)
				write_file(c->files[k].path, c->files[k].text);
		}
		quota = wf_os_cpus_quota(root);
		if (quota != c->quota)
			fail_msg("%s: %u", c->what, quota);
	}
}

/*
 * Lines that are too long for the buffer are skipped; the lines after them are
 * read.
 */
static void long_lines(void **state)
{
	static char mounts[64 * 1024];
	char *to = mounts;

	empty_tree();
	for (int i = 0; i < 3; i++) {
		to += sprintf(to, "22 1 8:1 / /");
		memset(to, 'x', 10000);
		to += 10000;
		to += sprintf(to, " rw - overlay overlay rw\n");
	}
	for (int i = 0; i < 100; i++)
		to += sprintf(to, "22 1 8:1 / /m%d rw - ext4 /dev/x rw\n", i);
	to += sprintf(to, V2_MOUNT);
	for (int i = 0; i < 100; i++)
		to += sprintf(to, "22 1 8:1 / /n%d rw - ext4 /dev/x rw\n", i);
	write_file("/proc/self/cgroup", "0::/a\n");
	write_file("/proc/self/mountinfo", mounts);
	write_file("/sys/fs/cgroup/a/cpu.max", "700000 100000\n");
	assert_int_equal(wf_os_cpus_quota(root), 7);
}

static void leaves_nothing_open(void **state)
{
	int before = dup(0), after;

	close(before);
	quotas(state);
	wf_os_cpus_quota("");
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

static void affinity(void **state)
{
	cpu_set_t all, one;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(wf_os_cpus_allowed(0), CPU_COUNT(&all));
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(wf_os_cpus_allowed(0), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static int make_root(void **state)
{
	return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void **state)
{
	empty_tree();
	return rmdir(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotas),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(leaves_nothing_open),
		cmocka_unit_test(affinity),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
