# SPDX-License-Identifier: MIT
"""The kernel's system calls and how weft handles them: data of
make_syscalls.py.

The numbers are those of x86-64. Every call is in one of THREAD, PROCESS and
NO_EFFECT. A row of THREAD has a test: FILE:CASE below test/posix or FILE below
test/regress. Where no available kernel allows a test, it has the reason.
"""

NEWEST = "6.18"

# Calls that the oldest headers with which the page may be checked lack.
NEWER = {
    335: "uretprobe", 336: "uprobe", 451: "cachestat", 452: "fchmodat2",
    453: "map_shadow_stack", 454: "futex_wake", 455: "futex_wait",
    456: "futex_requeue", 457: "statmount", 458: "listmount",
    459: "lsm_get_self_attr", 460: "lsm_set_self_attr",
    461: "lsm_list_modules", 462: "mseal", 463: "setxattrat",
    464: "getxattrat", 465: "listxattrat", 466: "removexattrat",
    467: "open_tree_attr", 468: "file_getattr", 469: "file_setattr",
}

# {first number: names}: from 0 on, and from 424 on.
OLDER = {0: """
    read write open close stat fstat lstat poll lseek mmap mprotect munmap
    brk rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64
    readv writev access pipe select sched_yield mremap msync mincore
    madvise shmget shmat shmctl dup dup2 pause nanosleep getitimer alarm
    setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg
    recvmsg shutdown bind listen getsockname getpeername socketpair
    setsockopt getsockopt clone fork vfork execve exit wait4 kill uname
    semget semop semctl shmdt msgget msgsnd msgrcv msgctl fcntl flock fsync
    fdatasync truncate ftruncate getdents getcwd chdir fchdir rename mkdir
    rmdir creat link unlink symlink readlink chmod fchmod chown fchown
    lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace
    getuid syslog getgid setuid setgid geteuid getegid setpgid getppid
    getpgrp setsid setreuid setregid getgroups setgroups setresuid
    getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget
    capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend
    sigaltstack utime mknod uselib personality ustat statfs fstatfs sysfs
    getpriority setpriority sched_setparam sched_getparam
    sched_setscheduler sched_getscheduler sched_get_priority_max
    sched_get_priority_min sched_rr_get_interval mlock munlock mlockall
    munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl
    adjtimex setrlimit chroot sync acct settimeofday mount umount2 swapon
    swapoff reboot sethostname setdomainname iopl ioperm create_module
    init_module delete_module get_kernel_syms query_module quotactl
    nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid
    readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr
    listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr
    tkill time futex sched_setaffinity sched_getaffinity set_thread_area
    io_setup io_destroy io_getevents io_submit io_cancel get_thread_area
    lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old
    remap_file_pages getdents64 set_tid_address restart_syscall semtimedop
    fadvise64 timer_create timer_settime timer_gettime timer_getoverrun
    timer_delete clock_settime clock_gettime clock_getres clock_nanosleep
    exit_group epoll_wait epoll_ctl tgkill utimes vserver mbind
    set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend
    mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key
    request_key keyctl ioprio_set ioprio_get inotify_init inotify_add_watch
    inotify_rm_watch migrate_pages openat mkdirat mknodat fchownat
    futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat
    fchmodat faccessat pselect6 ppoll unshare set_robust_list
    get_robust_list splice tee sync_file_range vmsplice move_pages
    utimensat epoll_pwait signalfd timerfd_create eventfd fallocate
    timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2
    epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo
    perf_event_open recvmmsg fanotify_init fanotify_mark prlimit64
    name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns
    getcpu process_vm_readv process_vm_writev kcmp finit_module
    sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create
    kexec_file_load bpf execveat userfaultfd membarrier mlock2
    copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free
    statx io_pgetevents rseq""", 424: """
    pidfd_send_signal io_uring_setup io_uring_enter io_uring_register
    open_tree move_mount fsopen fsconfig fsmount fspick pidfd_open clone3
    close_range openat2 pidfd_getfd faccessat2 process_madvise epoll_pwait2
    mount_setattr quotactl_fd landlock_create_ruleset landlock_add_rule
    landlock_restrict_self memfd_secret process_mrelease futex_waitv
    set_mempolicy_home_node"""}


def numbers():
    """Returns {number: call}."""
    return {first + i: name for first, names in OLDER.items()
            for i, name in enumerate(names.split())}


BOUND = "binds the thread"
INHERITED = "binds the thread; threads that it creates have it, too"
TRANSLATED = "a thread's id becomes that of a kernel thread"
RESERVED_FOR = "gives the thread that the id names a kernel thread of its own"
SIGNALS = "weft's own masks, pending signals and handlers"
OWN = "weft's own"
ALIKE = "asks the kernel thread, which is as all others or the thread's own"

# (call, operations, how it is handled, test)
THREAD = (
    ("rt_sigprocmask", "", SIGNALS, "signals:masks_are_per_thread"),
    ("rt_sigpending", "", SIGNALS, "signals:pending_at_once"),
    ("rt_sigtimedwait", "", SIGNALS,
     "signals:first_thread_gets_its_signal"),
    ("rt_sigsuspend", "", SIGNALS, "signal_threads:sigsuspend_misses_nothing"),
    ("rt_sigqueueinfo", "", SIGNALS, "signal_threads:real_time_signals_queue"),
    ("rt_sigreturn", "", SIGNALS, "signal_threads:system_calls_too"),
    ("sigaltstack", "", SIGNALS, "stack:"),
    ("pause", "", "parks", "signal_threads:kill_reaches_every_state"),
    ("kill", "", "the signal goes to a thread of weft's that lets it through",
     "signals:kill_of_oneself"),
    ("tkill", "", OWN, "signal_threads:system_calls_too"),
    ("tgkill", "", OWN, "signal_threads:tgkill_by_tid"),
    ("rt_tgsigqueueinfo", "", OWN, "signal_threads:system_calls_too"),
    ("pidfd_send_signal", "", "as `kill`", "signal_threads:system_calls_too"),
    ("sched_yield", "", OWN, "names:yield_reaches_all"),
    ("clone", "", "a thread of the kernel's own, or a child of the caller",
     "fork:"),
    ("clone3", "", "as `clone`", "fork:"),
    ("fork", "", "a child of the calling thread", "fork:"),
    ("vfork", "", "a child of the calling thread", "vfork:"),
    ("execve", "", "by the calling thread's kernel thread",
     "regress/exec_while_preempted"),
    ("execveat", "", "as `execve`", "regress/signals_while_exec_fails"),
    ("exit", "", "ends the thread, not the kernel thread",
     "regress/exit_by_kernel"),
    ("wait4", "`__WNOTHREAD`", "obeyed for threads with a kernel thread of "
     "their own; [limits.md](../guide/limits.md)", "children:"),
    ("waitid", "`__WNOTHREAD`", "as `wait4`", "children:"),
    ("capget", "", TRANSLATED, "kernel_state_each:capabilities"),
    ("capset", "", INHERITED + "; takes the thread's id",
     "kernel_state_each:capabilities_by_own_id"),
    ("setuid", "by `syscall()`", INHERITED,
     "kernel_state:user_by_system_call"),
    ("setreuid", "by `syscall()`", INHERITED,
     "kernel_state:user_by_system_call"),
    ("setresuid", "by `syscall()`", INHERITED,
     "kernel_state:user_by_system_call"),
    ("setgid", "by `syscall()`", INHERITED,
     "kernel_state_each:groups_by_system_call"),
    ("setregid", "by `syscall()`", INHERITED,
     "kernel_state_each:groups_by_system_call"),
    ("setresgid", "by `syscall()`", INHERITED,
     "kernel_state_each:groups_by_system_call"),
    ("setgroups", "by `syscall()`", INHERITED,
     "kernel_state_each:groups_by_system_call"),
    ("setuid", "libc's functions, and those of the six that follow",
     "on all kernel threads", "setuid:every_thread_changes"),
    ("setfsuid", "", INHERITED, "kernel_state_each:file_system_user"),
    ("setfsgid", "", INHERITED, "kernel_state_each:file_system_group"),
    ("getuid", "", ALIKE, "kernel_state:user_by_system_call"),
    ("geteuid", "", ALIKE, "kernel_state:user_by_system_call"),
    ("getresuid", "", ALIKE, "kernel_state:user_by_system_call"),
    ("getgid", "", ALIKE, "kernel_state_each:groups_by_system_call"),
    ("getegid", "", ALIKE, "kernel_state_each:groups_by_system_call"),
    ("getresgid", "", ALIKE, "kernel_state_each:groups_by_system_call"),
    ("getgroups", "", ALIKE, "kernel_state_each:groups_by_system_call"),
    ("getpgid", "", TRANSLATED, "kernel_state_ids:process_of_a_thread"),
    ("getsid", "", TRANSLATED, "kernel_state_ids:process_of_a_thread"),
    ("prlimit64", "", TRANSLATED, "kernel_state_ids:process_of_a_thread"),
    ("process_vm_readv", "", TRANSLATED,
     "kernel_state_ids:process_of_a_thread"),
    ("process_vm_writev", "", TRANSLATED,
     "kernel_state_ids:process_of_a_thread"),
    ("kcmp", "", TRANSLATED, "kernel_state_ids:process_of_a_thread"),
    ("move_pages", "", TRANSLATED, "kernel_state_ids:process_of_a_thread"),
    ("migrate_pages", "", TRANSLATED, "kernel_state_ids:process_of_a_thread"),
    ("personality", "", INHERITED, "kernel_state_each:personalities"),
    ("getpriority", "`PRIO_PROCESS`", TRANSLATED,
     "kernel_state_others:nice_value_of_another"),
    ("setpriority", "`PRIO_PROCESS`", RESERVED_FOR,
     "kernel_state_others:nice_value_of_another"),
    ("ioprio_get", "`IOPRIO_WHO_PROCESS`", TRANSLATED,
     "kernel_state_others:io_priority_of_another"),
    ("ioprio_set", "`IOPRIO_WHO_PROCESS`", RESERVED_FOR,
     "kernel_state_others:io_priority_of_another"),
    ("sched_setparam", "", OWN, "policies:by_system_call"),
    ("sched_getparam", "", OWN, "policies:by_system_call"),
    ("sched_setscheduler", "", OWN, "policies:by_system_call"),
    ("sched_getscheduler", "", OWN, "policies:by_system_call"),
    ("sched_rr_get_interval", "", OWN, "policies:by_system_call"),
    ("sched_setattr", "policy, priority, nice value", OWN + "; a nice value: "
     + RESERVED_FOR, "policies:attributes_by_system_call"),
    ("sched_setattr", "flags, slices, deadlines", RESERVED_FOR,
     "kernel_state_sched:deadlines"),
    ("sched_getattr", "", OWN + "; the rest: " + TRANSLATED,
     "policies:attributes_by_system_call"),
    ("sched_setaffinity", "", RESERVED_FOR, "names:pinning_another_thread"),
    ("sched_getaffinity", "", TRANSLATED, "names:affinity_can_be_set"),
    ("getcpu", "", "the CPU at this time", "names:pinning_one_thread"),
    ("prctl", "`PR_SET_NAME`, `PR_GET_NAME`", OWN,
     "kernel_state:names_by_prctl"),
    ("prctl", "`PR_SET_TIMERSLACK`", INHERITED,
     "kernel_state_each:option_timer_slack"),
    ("prctl", "`PR_SET_SECCOMP`", INHERITED, "regress/filters"),
    ("prctl", "`PR_SET_NO_NEW_PRIVS`", INHERITED,
     "kernel_state_each:option_no_new_privileges"),
    ("prctl", "`PR_SET_SECUREBITS`", INHERITED,
     "kernel_state_each:option_secure_bits"),
    ("prctl", "`PR_SET_KEEPCAPS`", INHERITED,
     "kernel_state_each:option_keep_capabilities"),
    ("prctl", "`PR_CAPBSET_DROP`, `PR_CAP_AMBIENT`", INHERITED,
     "kernel_state_each:option_capability_bounds"),
    ("prctl", "`PR_SET_TSC`",
     INHERITED + "; all clocks are read by system calls",
     "kernel_state_each:option_time_stamps"),
    ("prctl", "`PR_MCE_KILL`", INHERITED,
     "kernel_state_each:option_memory_errors"),
    ("prctl", "`PR_SET_IO_FLUSHER`", INHERITED,
     "kernel_state_each:option_io_flusher"),
    ("prctl", "`PR_SET_SPECULATION_CTRL`", INHERITED,
     "kernel_state_each:option_speculation"),
    ("prctl", "`PR_SET_PDEATHSIG`", BOUND,
     "kernel_state_each:option_death_signal"),
    ("prctl", "`PR_SET_SYSCALL_USER_DISPATCH`", BOUND,
     "kernel_state_ids:dispatch_of_system_calls"),
    ("prctl", "`PR_SCHED_CORE`, scope of a thread", RESERVED_FOR,
     "kernel_state_rare:core_of_a_thread"),
    ("prctl", "`PR_TASK_PERF_EVENTS_ENABLE`, `PR_TASK_PERF_EVENTS_DISABLE`",
     "of the thread's own events, with which it is bound",
     "kernel_state_handles:counter_of_events"),
    ("prctl", "`PR_SET_FPEMU`, `PR_SET_FPEXC`, `PR_SET_UNALIGN`", INHERITED,
     "kernel_state_rare:options_of_other_processors"),
    ("arch_prctl", "`ARCH_SET_GS`", INHERITED, "kernel_state:base_of_gs"),
    ("arch_prctl", "`ARCH_SET_CPUID`", INHERITED,
     "kernel_state_each:cpu_identification"),
    ("arch_prctl", "`ARCH_SET_FS`",
     "until the next switch: the register is the thread's TCB",
     "fs_base:preempted"),
    ("arch_prctl", "`ARCH_SHSTK_ENABLE` and its relatives",
     "refused, as by a kernel without shadow stacks",
     "kernel_state_rare:shadow_stacks"),
    ("gettid", "", OWN, "names:thread_ids_are_unique_and_stable"),
    ("set_tid_address", "", "tells the id",
     "names:set_tid_address_tells_the_id"),
    ("futex", "", OWN, "futex:wait_and_wake"),
    ("futex", "`FUTEX_LOCK_PI` and its relatives", BOUND, "futex_owner:"),
    ("futex_waitv", "", "a kernel thread waits",
     "futex:wait_for_several_words"),
    ("futex_wake", "", OWN, "futex_new:new_call_wakes"),
    ("futex_wait", "", OWN, "futex_new:new_wait_ends"),
    ("futex_requeue", "", OWN, "futex_new:new_requeue"),
    ("set_robust_list", "", OWN, "robust_list:set"),
    ("get_robust_list", "", OWN, "robust_list:each_thread_has_its_own"),
    ("rseq", "", "refused with `ENOSYS`: threads change their kernel threads",
     "kernel_state_rare:restartable_sequences"),
    ("membarrier", "registration", "the program's and weft's are told apart",
     "unseen:fences_without_registration"),
    ("ptrace", "", BOUND, "kernel_state_handles:tracer"),
    ("iopl", "", INHERITED, "kernel_state_rare:all_ports"),
    ("ioperm", "", INHERITED, "kernel_state_rare:one_port"),
    ("getrusage", "`RUSAGE_THREAD`",
     "CPU time is the thread's; the rest is that of its kernel thread",
     "cpu_time:together_no_more_than_the_process"),
    ("timer_create", "for a thread, or on its CPU clock",
     "a timer of the receiver's; " + RESERVED_FOR,
     "timers_by_number:timers_of_threads_by_system_call"),
    ("timer_settime", "", "of such timers",
     "timers_by_number:timer_on_own_clock_by_system_call"),
    ("timer_gettime", "", "of such timers",
     "timers_by_number:timers_of_threads_by_system_call"),
    ("timer_getoverrun", "", "of such timers",
     "timers_by_number:timers_of_threads_by_system_call"),
    ("timer_delete", "", "of such timers",
     "timers_by_number:timers_of_threads_by_system_call"),
    ("clock_gettime", "clocks of threads", OWN,
     "cpu_time:names_of_the_own_clock"),
    ("clock_getres", "clocks of threads", OWN,
     "timers_by_number:timer_on_own_clock_by_system_call"),
    ("clock_nanosleep", "clocks of threads", RESERVED_FOR,
     "timers:sleep_on_the_clock_of_another"),
    ("nanosleep", "timer slack",
     "libc's function parks for the slack of its thread, `syscall()` "
     "blocks its kernel thread", "kernel_state:timer_slack"),
    ("set_mempolicy", "", INHERITED, "kernel_state_each:memory_policies"),
    ("get_mempolicy", "of the thread", ALIKE,
     "kernel_state_each:memory_policies"),
    ("pkey_alloc", "", "a switch takes the rights along", "keys:"),
    ("add_key", "the thread's keyring, and others that it makes", INHERITED,
     "keyrings:keys_of_each_thread"),
    ("request_key", "the same as destinations", INHERITED,
     "keyrings:keyring_by_each_call"),
    ("keyctl", "operations on the thread's keyring", INHERITED,
     "keyrings:keyring_by_each_call"),
    ("keyctl", "operations that make the process's keyring", INHERITED,
     "keyrings:process_keyring_that_a_thread_makes"),
    ("keyctl", "`KEYCTL_JOIN_SESSION_KEYRING`, or making one", INHERITED,
     "keyrings:session_keyrings"),
    ("keyctl", "`KEYCTL_SET_REQKEY_KEYRING`", INHERITED,
     "keyrings:default_keyring_of_requests"),
    ("keyctl", "`KEYCTL_ASSUME_AUTHORITY`", INHERITED,
     "kernel_state_rare:authority_over_a_key"),
    ("unshare", "", INHERITED, "kernel_state:own_namespace"),
    ("setns", "", INHERITED, "kernel_state:own_namespace"),
    ("close_range", "`CLOSE_RANGE_UNSHARE`", INHERITED,
     "kernel_state:own_descriptors"),
    ("perf_event_open", "of a thread", RESERVED_FOR,
     "kernel_state_handles:counter_of_events"),
    ("seccomp", "a filter for the thread", INHERITED, "regress/filters"),
    ("landlock_restrict_self", "", INHERITED,
     "kernel_state:rules_of_landlock"),
    ("io_uring_setup",
     "`IORING_SETUP_SINGLE_ISSUER`, `IORING_SETUP_REGISTERED_FD_ONLY`", BOUND,
     "kernel_state_handles:ring_of_one_thread"),
    ("io_uring_register",
     "`IORING_REGISTER_RING_FDS`, `IORING_REGISTER_ENABLE_RINGS`, "
     "`IORING_REGISTER_IOWQ_AFF`", BOUND, "kernel_state_ids:registered_rings"),
    ("io_uring_enter", "`IORING_ENTER_REGISTERED_RING`",
     "by the thread that registered the ring, which is bound",
     "kernel_state_ids:registered_ring_from_before_the_first_thread"),
    ("pidfd_open", "`PIDFD_THREAD`", RESERVED_FOR,
     "kernel_state_ids:descriptor_of_a_thread"),
    ("lsm_set_self_attr", "", INHERITED, "kernel_state_rare:security_modules"),
    ("lsm_get_self_attr", "", ALIKE,
     "kernel_state_rare:security_modules"),
    ("signalfd", "", "shows the thread's signals to `read`", "signalfd:"),
    ("signalfd4", "", "shows the thread's signals to `read`", "signalfd:"),
    ("fcntl", "`F_SETOWN_EX` with `F_OWNER_TID`",
     "does not find threads; [limits.md](../guide/limits.md)",
     "kernel_state_rare:descriptor_that_signals_a_thread"),
    ("ioctl", "devices that know their callers by the kernel thread",
     "need `--bound`; [limits.md](../guide/limits.md)", "none: a limit"),
    ("open", "libc's function, to write the own `attr/*` or `loginuid` below "
     "`/proc`", INHERITED,
     "kernel_state_ids:files_that_their_thread_writes"),
    ("openat", "libc's function, to write the own `attr/*` or `loginuid` below "
     "`/proc`", INHERITED,
     "kernel_state_ids:files_that_their_thread_writes"),
    ("write", "ids of threads in files of control groups",
     "are not found; [limits.md](../guide/limits.md)",
     "kernel_state_rare:control_group_of_a_thread"),
)

# (object of the calls, how weft handles them, calls)
PROCESS = (
    ("passed through, or a wait that parks", """
     read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2
     sendfile splice tee vmsplice copy_file_range connect accept accept4 sendto
     recvfrom sendmsg recvmsg sendmmsg recvmmsg poll select ppoll pselect6
     epoll_wait epoll_pwait epoll_pwait2 flock fcntl fsync fdatasync syncfs sync
     msync sync_file_range fallocate ftruncate truncate open openat creat
     openat2 mq_timedsend mq_timedreceive msgsnd msgrcv semop semtimedop wait4
     waitid"""),
    ("signals and timers of the process, which weft hands to a thread", """
     rt_sigaction alarm getitimer setitimer mq_notify timerfd_create
     timerfd_settime timerfd_gettime exit_group"""),
    ("descriptors", """
     close lseek dup dup2 dup3 pipe pipe2 ioctl socket socketpair bind listen
     shutdown getsockname getpeername setsockopt getsockopt epoll_create
     epoll_create1 epoll_ctl eventfd eventfd2 inotify_init inotify_init1
     inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark memfd_create
     memfd_secret pidfd_getfd userfaultfd bpf close_range mq_open mq_getsetattr
     io_uring_setup io_uring_register io_uring_enter landlock_create_ruleset
     landlock_add_rule perf_event_open pidfd_open"""),
    ("files, by the credentials and directories of the kernel thread", """
     stat fstat lstat access getdents getdents64 getcwd chdir fchdir rename
     mkdir rmdir link unlink symlink readlink chmod fchmod chown fchown lchown
     umask utime mknod statfs fstatfs chroot setxattr lsetxattr fsetxattr
     getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr
     lremovexattr fremovexattr utimes mkdirat mknodat fchownat futimesat
     newfstatat unlinkat renameat renameat2 linkat symlinkat readlinkat fchmodat
     fchmodat2 faccessat faccessat2 utimensat name_to_handle_at
     open_by_handle_at statx fadvise64 readahead cachestat mq_unlink setxattrat
     getxattrat listxattrat removexattrat file_getattr file_setattr"""),
    ("memory", """
     mmap mprotect munmap brk mremap mincore madvise mlock mlock2 munlock
     mlockall munlockall remap_file_pages mbind set_mempolicy_home_node
     pkey_mprotect pkey_free shmget shmat shmctl shmdt modify_ldt mseal
     map_shadow_stack process_madvise process_mrelease membarrier"""),
    ("objects that processes share, and asynchronous calls", """
     semget semctl msgget msgctl io_setup io_destroy io_getevents io_submit
     io_cancel io_pgetevents"""),
    ("the process, its group, session and limits", """
     getpid getppid getpgrp setpgid setsid getrlimit setrlimit times prctl
     seccomp sched_get_priority_max sched_get_priority_min getrusage
     setpriority getpriority ioprio_set ioprio_get keyctl arch_prctl"""),
    ("the machine, or the namespace of the calling kernel thread", """
     uname sysinfo syslog gettimeofday time settimeofday clock_settime
     clock_gettime clock_getres clock_adjtime adjtimex sethostname
     setdomainname vhangup pivot_root acct mount umount2 swapon swapoff reboot
     init_module finit_module delete_module quotactl quotactl_fd kexec_load
     kexec_file_load getrandom open_tree move_mount fsopen fsconfig fsmount
     fspick mount_setattr open_tree_attr statmount listmount lsm_list_modules
     sysfs ustat"""),
)

# (reason, calls)
NO_EFFECT = (
    ("the kernel has it no more: `ENOSYS`", """
     uselib _sysctl create_module get_kernel_syms query_module nfsservctl
     getpmsg putpmsg afs_syscall tuxcall security vserver epoll_ctl_old
     epoll_wait_old lookup_dcookie set_thread_area get_thread_area"""),
    ("the kernel's own, on the way back from a signal or a probe", """
     restart_syscall uretprobe uprobe"""),
)
