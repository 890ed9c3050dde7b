/* SPDX-License-Identifier: MIT */
/*
 * Runs a program with the system calls that a container has by Docker's
 * default seccomp profile, with Docker's default capabilities:
 *
 *     confine [--allow-io-uring] PROGRAM [ARGS...]
 *
 * The profile is a list of the calls that are allowed. This program has the
 * other ones of Linux 6.1. They fail with EPERM; clone3, and calls that are
 * newer than that list, with ENOSYS. io_uring's calls are refused since
 * Docker 25 and containerd 1.7.9.
 *
 * Exit status 125: no filter can be set; 127: the program is not found.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	EXIT_REFUSED = 125,
	EXIT_NOT_FOUND = 127,
	NEWEST = SYS_set_mempolicy_home_node,
	X32_BIT = 0x40000000,
	MOST_STEPS = 512,
	ALLOW = SECCOMP_RET_ALLOW,
	NOT_PERMITTED = SECCOMP_RET_ERRNO | EPERM,
	NO_SUCH_CALL = SECCOMP_RET_ERRNO | ENOSYS,
};

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
static const uint32_t namespaces = CLONE_NEWNS | CLONE_NEWCGROUP |
				   CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
				   CLONE_NEWPID | CLONE_NEWNET;

static const int refused[] = {
	/* The machine's state: devices, file systems, clock, name, modules. */
	SYS_acct, SYS_clock_settime, SYS_create_module, SYS_delete_module,
	SYS_finit_module, SYS_get_kernel_syms, SYS_init_module, SYS_ioperm,
	SYS_iopl, SYS_kexec_file_load, SYS_kexec_load, SYS_query_module,
	SYS_quotactl, SYS_quotactl_fd, SYS_reboot, SYS_setdomainname,
	SYS_sethostname, SYS_settimeofday, SYS_swapoff, SYS_swapon, SYS_syslog,
	SYS_vhangup,
	/* Namespaces and mounts. */
	SYS_fsconfig, SYS_fsmount, SYS_fsopen, SYS_fspick, SYS_mount,
	SYS_mount_setattr, SYS_move_mount, SYS_open_by_handle_at, SYS_open_tree,
	SYS_pivot_root, SYS_setns, SYS_umount2, SYS_unshare,
	/* Other processes, keys, memory of NUMA nodes, tracing. */
	SYS_add_key, SYS_bpf, SYS_fanotify_init, SYS_get_mempolicy, SYS_kcmp,
	SYS_keyctl, SYS_lookup_dcookie, SYS_mbind, SYS_migrate_pages,
	SYS_move_pages, SYS_perf_event_open, SYS_pidfd_getfd,
	SYS_process_madvise, SYS_request_key, SYS_set_mempolicy,
	SYS_set_mempolicy_home_node, SYS_userfaultfd,
	/* Obsolete. */
	SYS__sysctl, SYS_afs_syscall, SYS_getpmsg, SYS_nfsservctl, SYS_putpmsg,
	SYS_security, SYS_sysfs, SYS_tuxcall, SYS_uselib, SYS_ustat, SYS_vserver
};
static const int io_uring[] = { SYS_io_uring_setup, SYS_io_uring_enter,
				SYS_io_uring_register };
/* Values of personality() that are allowed. */
static const uint32_t personalities[] = { 0, 8, 0x20000, 0x20008, 0xffffffff };

static struct sock_filter code[MOST_STEPS];
static unsigned short length;

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void add(uint16_t step, uint32_t value, uint8_t if_true,
		uint8_t if_false)
{
	code[length++] = (struct sock_filter){ step, if_true, if_false, value };
}

static void load(size_t offset)
{
	add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void end_with(uint32_t verdict)
{
	add(BPF_RET | BPF_K, verdict, 0, 0);
}

static void end_if_equal(uint32_t value, uint32_t verdict)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	end_with(verdict);
}

static void refuse_all(const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		end_if_equal((uint32_t)calls[i], NOT_PERMITTED);
}

/* The calls of which the first argument decides; the number is loaded. */
static void add_conditions(void)
{
	/* No new namespaces. */
	add(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
	load(offsetof(struct seccomp_data, args[0]));
	add(BPF_JMP | BPF_JSET | BPF_K, namespaces, 0, 1);
	end_with(NOT_PERMITTED);
	end_with(ALLOW);
	/* No sockets to the hypervisor. */
	add(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4);
	load(offsetof(struct seccomp_data, args[0]));
	end_if_equal(AF_VSOCK, NOT_PERMITTED);
	end_with(ALLOW);
	add(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0,
	    2 + 2 * COUNT(personalities));
	load(offsetof(struct seccomp_data, args[0]));
	for (size_t i = 0; i < COUNT(personalities); i++)
		end_if_equal(personalities[i], ALLOW);
	end_with(NOT_PERMITTED);
}

static void make_filter(bool allows_io_uring)
{
	load(offsetof(struct seccomp_data, arch));
	add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	end_with(NOT_PERMITTED);
	load(offsetof(struct seccomp_data, nr));
	add(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	end_with(NOT_PERMITTED);
	add(BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 1);
	end_with(NO_SUCH_CALL);
	end_if_equal(SYS_clone3, NO_SUCH_CALL);
	refuse_all(refused, COUNT(refused));
	if (!allows_io_uring)
		refuse_all(io_uring, COUNT(io_uring));
	add_conditions();
	end_with(ALLOW);
}

int main(int argc, char **argv)
{
	bool allows = argc > 1 && strcmp(argv[1], "--allow-io-uring") == 0;
	struct sock_fprog filter = { .filter = code };
	char **command = argv + 1 + allows;

	if (command >= argv + argc || command[0][0] == '-') {
		fputs("usage: confine [--allow-io-uring] PROGRAM [ARGS...]\n",
		      stderr);
		return EXIT_USAGE;
	}
	make_filter(allows);
	filter.len = length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
		perror("confine: seccomp");
		return EXIT_REFUSED;
	}
	execvp(command[0], command);
	perror(command[0]);
	return EXIT_NOT_FOUND;
}
