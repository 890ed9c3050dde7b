# SPDX-License-Identifier: MIT
"""The behaviour of libc's own functions on weft: data of make_compat.py.

Every function of the headers that weft does not export is in one of PASSED and
UNCONCERNED; a name that is a macro in C counts as a function.
"""

HEADERS = ("pthread.h", "threads.h", "semaphore.h", "signal.h", "sched.h",
           "time.h", "unistd.h", "aio.h", "mqueue.h")

# Names that the linker or a macro turns into an export of another name.
REACHES = {"pthread_atfork": "__register_atfork"}

HANDED_OFF = ("waits in the kernel; "
              "the CPU of its kernel thread is given to others")

# (effect on weft, names)
PASSED = (
    ("works on the object, which weft reads when something is made of it", """
     pthread_attr_destroy pthread_attr_getaffinity_np
     pthread_attr_getdetachstate pthread_attr_getguardsize
     pthread_attr_getinheritsched pthread_attr_getschedparam
     pthread_attr_getschedpolicy pthread_attr_getscope
     pthread_attr_getsigmask_np pthread_attr_getstack
     pthread_attr_getstackaddr pthread_attr_getstacksize pthread_attr_init
     pthread_attr_setdetachstate pthread_attr_setguardsize
     pthread_attr_setinheritsched pthread_attr_setsigmask_np
     pthread_attr_setstack pthread_attr_setstackaddr
     pthread_attr_setstacksize
     pthread_barrierattr_destroy pthread_barrierattr_getpshared
     pthread_barrierattr_init pthread_barrierattr_setpshared
     pthread_condattr_destroy pthread_condattr_getclock
     pthread_condattr_getpshared pthread_condattr_init
     pthread_condattr_setclock pthread_condattr_setpshared
     pthread_mutexattr_destroy pthread_mutexattr_getprioceiling
     pthread_mutexattr_getprotocol pthread_mutexattr_getpshared
     pthread_mutexattr_getrobust pthread_mutexattr_getrobust_np
     pthread_mutexattr_gettype pthread_mutexattr_init
     pthread_mutexattr_setpshared pthread_mutexattr_setrobust
     pthread_mutexattr_setrobust_np pthread_mutexattr_settype
     pthread_rwlockattr_destroy pthread_rwlockattr_getkind_np
     pthread_rwlockattr_getpshared pthread_rwlockattr_init
     pthread_rwlockattr_setkind_np pthread_rwlockattr_setpshared
     pthread_getattr_default_np pthread_mutex_consistent
     pthread_mutex_consistent_np"""),
    ("`PTHREAD_SCOPE_SYSTEM`, the only one of libc's, gives no kernel thread; "
     "`--bound` does", "pthread_attr_setscope"),
    ("works on the thread's own control block, which travels with it", """
     pthread_cleanup_pop pthread_cleanup_pop_restore_np pthread_cleanup_push
     pthread_cleanup_push_defer_np pthread_equal pthread_getspecific
     pthread_key_create pthread_key_delete pthread_self pthread_setcancelstate
     pthread_setcanceltype pthread_setspecific pthread_testcancel
     thrd_current thrd_equal tss_create tss_delete tss_get tss_set"""),
    ("a number that libc keeps and nobody uses",
     "pthread_getconcurrency pthread_setconcurrency"),
    ("does not wait; waits for the semaphore are weft's",
     "sem_close sem_open sem_unlink"),
    ("to processes; weft hands what comes to this one to a thread",
     "alarm ualarm"),
    ("numbers that neither libc nor weft uses itself", "SIGRTMAX SIGRTMIN"),
    ("libc's always fails", "sigreturn"),
    ("the CPU at this time; the next call may tell another",
     "getcpu sched_getcpu"),
    ("about policies, not threads",
     "sched_get_priority_max sched_get_priority_min"),
    ("the CPU time of a process, weft's kernel threads included",
     "clock clock_getcpuclockid profil"),
    ("does not wait and does not depend on the thread",
     "clock_adjtime clock_settime time "
     "timespec_get timespec_getres"),
    ("`fork`; the child has one thread and can make more, on weft",
     "daemon fork"),
    ("credentials: those of the process, as natively",
     "getegid geteuid getgid getgroups getresgid getresuid getuid "
     "group_member"),
    ("process, group and session: the kernel's and the same for all threads",
     "getpgrp getpid getppid setpgid setpgrp setsid tcgetpgrp "
     "tcsetpgrp"),
    ("the directories of the process, as natively", "chdir chroot fchdir"),
    (HANDED_OFF, """
     getpass"""),
    ("kernel threads of libc's do the work and run what "
     "`SIGEV_THREAD` names", """
     aio_cancel aio_cancel64 aio_error aio_error64 aio_fsync aio_fsync64
     aio_init aio_read aio_read64 aio_return aio_return64 aio_write
     aio_write64"""),
    ("does not wait", "mq_close mq_getattr mq_open mq_setattr mq_unlink"),
)

# Functions that neither wait nor are about threads, signals or scheduling.
UNCONCERNED = """
    psiginfo psignal sigaddset sigandset sigdelset sigemptyset sigfillset
    sigisemptyset sigismember sigorset sigstack
    asctime asctime_r ctime ctime_r difftime dysize getdate getdate_r gmtime
    gmtime_r localtime localtime_r mktime strftime strftime_l strptime
    strptime_l timegm timelocal tzset
    acct brk chown confstr crypt dup eaccess endusershell euidaccess
    faccessat fchown fchownat fpathconf
    get_current_dir_name getcwd getdomainname getdtablesize getentropy
    gethostid gethostname getlogin getlogin_r getopt getpagesize getusershell
    getwd isatty lchown link linkat lseek lseek64 pathconf pipe pipe2 readlink
    readlinkat revoke rmdir sbrk setdomainname sethostid sethostname setlogin
    setusershell swab symlink symlinkat sysconf ttyname
    ttyname_r ttyslot unlink unlinkat vhangup
"""
