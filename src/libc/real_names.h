/* SPDX-License-Identifier: MIT */
/*
 * libc's functions that weft calls although it interposes their names, for
 * real.h and real.c: WF_REAL(type of the result, name, arguments).
 */
/* The includer defines WF_REAL; without it the table is empty. */
#ifndef WF_REAL
#define WF_REAL(ret, name, args)
#endif

/* Robust and process-shared mutexes. */
WF_REAL(int, pthread_mutex_init,
	(pthread_mutex_t *, const pthread_mutexattr_t *))
WF_REAL(int, pthread_mutex_destroy, (pthread_mutex_t *))
WF_REAL(int, pthread_mutex_lock, (pthread_mutex_t *))
WF_REAL(int, pthread_mutex_trylock, (pthread_mutex_t *))
WF_REAL(int, pthread_mutex_clocklock,
	(pthread_mutex_t *, clockid_t, const struct timespec *))
WF_REAL(int, pthread_mutex_unlock, (pthread_mutex_t *))
WF_REAL(int, pthread_mutex_getprioceiling, (const pthread_mutex_t *, int *))
WF_REAL(int, pthread_mutex_setprioceiling, (pthread_mutex_t *, int, int *))

/* Process-shared condition variables. */
WF_REAL(int, pthread_cond_init, (pthread_cond_t *, const pthread_condattr_t *))
WF_REAL(int, pthread_cond_destroy, (pthread_cond_t *))
WF_REAL(int, pthread_cond_wait, (pthread_cond_t *, pthread_mutex_t *))
WF_REAL(int, pthread_cond_clockwait,
	(pthread_cond_t *, pthread_mutex_t *, clockid_t,
	 const struct timespec *))
WF_REAL(int, pthread_cond_signal, (pthread_cond_t *))
WF_REAL(int, pthread_cond_broadcast, (pthread_cond_t *))

/* Process-shared reader-writer locks. */
WF_REAL(int, pthread_rwlock_init,
	(pthread_rwlock_t *, const pthread_rwlockattr_t *))
WF_REAL(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t *))
WF_REAL(int, pthread_rwlock_trywrlock, (pthread_rwlock_t *))
WF_REAL(int, pthread_rwlock_unlock, (pthread_rwlock_t *))

/* Process-shared barriers. */
WF_REAL(int, pthread_barrier_init,
	(pthread_barrier_t *, const pthread_barrierattr_t *, unsigned int))

/* Process-shared semaphores, those of sem_open among them. */
WF_REAL(int, sem_init, (sem_t *, int, unsigned int))
WF_REAL(int, sem_wait, (sem_t *))
WF_REAL(int, sem_trywait, (sem_t *))
WF_REAL(int, sem_clockwait, (sem_t *, clockid_t, const struct timespec *))
WF_REAL(int, sem_post, (sem_t *))
WF_REAL(int, sem_getvalue, (sem_t *, int *))

/* Clocks that weft does not wait on. */
WF_REAL(int, clock_nanosleep,
	(clockid_t, int, const struct timespec *, struct timespec *))

/* Threads. */
WF_REAL(int, pthread_create,
	(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
WF_REAL(int, pthread_join, (pthread_t, void **))
WF_REAL(int, pthread_tryjoin_np, (pthread_t, void **))
WF_REAL(int, pthread_clockjoin_np,
	(pthread_t, void **, clockid_t, const struct timespec *))
WF_REAL(int, pthread_detach, (pthread_t))
WF_REAL(void, pthread_exit, (void *))
WF_REAL(int, pthread_cancel, (pthread_t))
WF_REAL(int, pthread_kill, (pthread_t, int))
WF_REAL(int, pthread_sigqueue, (pthread_t, int, const union sigval))
WF_REAL(long, ptrace, (enum __ptrace_request, ...))
WF_REAL(int, pthread_getattr_np, (pthread_t, pthread_attr_t *))
WF_REAL(int, pthread_attr_getstackaddr, (const pthread_attr_t *, void **))
WF_REAL(int, pthread_getattr_default_np, (pthread_attr_t *))
WF_REAL(int, pthread_setattr_default_np, (const pthread_attr_t *))
WF_REAL(int, pthread_setname_np, (pthread_t, const char *))
WF_REAL(int, pthread_getname_np, (pthread_t, char *, size_t))
WF_REAL(int, pthread_setaffinity_np, (pthread_t, size_t, const cpu_set_t *))
WF_REAL(int, pthread_getaffinity_np, (pthread_t, size_t, cpu_set_t *))
WF_REAL(int, pthread_setschedparam,
	(pthread_t, int, const struct sched_param *))
WF_REAL(int, pthread_getschedparam, (pthread_t, int *, struct sched_param *))
WF_REAL(int, pthread_setschedprio, (pthread_t, int))
WF_REAL(int, pthread_getcpuclockid, (pthread_t, clockid_t *))
WF_REAL(int, clock_getres, (clockid_t, struct timespec *))

/* Signals. */
WF_REAL(int, sigaction, (int, const struct sigaction *, struct sigaction *))
WF_REAL(int, raise, (int))
WF_REAL(int, timer_create, (clockid_t, struct sigevent *, timer_t *))
WF_REAL(int, timer_delete, (timer_t))
WF_REAL(int, timer_getoverrun, (timer_t))
WF_REAL(int, timer_gettime, (timer_t, struct itimerspec *))
WF_REAL(int, timer_settime,
	(timer_t, int, const struct itimerspec *, struct itimerspec *))
WF_REAL(int, setcontext, (const ucontext_t *))
WF_REAL(void, siglongjmp, (struct __jmp_buf_tag *, int))

/* The process. */
WF_REAL(int, system, (const char *))
WF_REAL(int, execve, (const char *, char *const *, char *const *))
WF_REAL(int, execvpe, (const char *, char *const *, char *const *))
WF_REAL(int, posix_spawn,
	(pid_t *, const char *, const posix_spawn_file_actions_t *,
	 const posix_spawnattr_t *, char *const *, char *const *))
WF_REAL(int, posix_spawnp,
	(pid_t *, const char *, const posix_spawn_file_actions_t *,
	 const posix_spawnattr_t *, char *const *, char *const *))
WF_REAL(int, fexecve, (int, char *const *, char *const *))
WF_REAL(pid_t, _Fork, (void))
WF_REAL(int, clone,
	(int (*)(void *), void *, int, void *, pid_t *, void *, pid_t *))
WF_REAL(int, __register_atfork,
	(void (*)(void), void (*)(void), void (*)(void), void *))
WF_REAL(int, dl_iterate_phdr,
	(int (*)(struct dl_phdr_info *, size_t, void *), void *))

/* Descriptors. */
WF_REAL(ssize_t, read, (int, void *, size_t))
WF_REAL(ssize_t, __read_chk, (int, void *, size_t, size_t))
WF_REAL(ssize_t, readv, (int, const struct iovec *, int))
WF_REAL(ssize_t, pread, (int, void *, size_t, off_t))
WF_REAL(ssize_t, __pread_chk, (int, void *, size_t, off_t, size_t))
WF_REAL(ssize_t, preadv, (int, const struct iovec *, int, off_t))
WF_REAL(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int))
WF_REAL(ssize_t, pwrite, (int, const void *, size_t, off_t))
WF_REAL(ssize_t, pwritev, (int, const struct iovec *, int, off_t))
WF_REAL(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int))
WF_REAL(ssize_t, write, (int, const void *, size_t))
WF_REAL(ssize_t, writev, (int, const struct iovec *, int))
WF_REAL(ssize_t, recv, (int, void *, size_t, int))
WF_REAL(ssize_t, __recv_chk, (int, void *, size_t, size_t, int))
WF_REAL(ssize_t, recvfrom,
	(int, void *, size_t, int, struct sockaddr *, socklen_t *))
WF_REAL(ssize_t, __recvfrom_chk,
	(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *))
WF_REAL(ssize_t, recvmsg, (int, struct msghdr *, int))
WF_REAL(ssize_t, send, (int, const void *, size_t, int))
WF_REAL(ssize_t, sendto,
	(int, const void *, size_t, int, const struct sockaddr *, socklen_t))
WF_REAL(ssize_t, sendmsg, (int, const struct msghdr *, int))
WF_REAL(int, recvmmsg,
	(int, struct mmsghdr *, unsigned int, int, struct timespec *))
WF_REAL(int, sendmmsg, (int, struct mmsghdr *, unsigned int, int))
WF_REAL(int, accept, (int, struct sockaddr *, socklen_t *))
WF_REAL(int, accept4, (int, struct sockaddr *, socklen_t *, int))
WF_REAL(int, connect, (int, const struct sockaddr *, socklen_t))
WF_REAL(int, poll, (struct pollfd *, nfds_t, int))
WF_REAL(int, __poll_chk, (struct pollfd *, nfds_t, int, size_t))
WF_REAL(int, ppoll,
	(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))
WF_REAL(int, __ppoll_chk,
	(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *,
	 size_t))
WF_REAL(int, epoll_wait, (int, struct epoll_event *, int, int))
WF_REAL(int, epoll_pwait,
	(int, struct epoll_event *, int, int, const sigset_t *))
WF_REAL(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *))
WF_REAL(int, pselect,
	(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
	 const sigset_t *))
WF_REAL(int, close, (int))
WF_REAL(int, dup2, (int, int))
WF_REAL(int, dup3, (int, int, int))

/* Children. */
WF_REAL(pid_t, wait4, (pid_t, int *, int, struct rusage *))
WF_REAL(int, waitid, (unsigned int, id_t, siginfo_t *, int)) /* idtype_t */

/* Messages and semaphores. */
WF_REAL(int, mq_timedsend,
	(mqd_t, const char *, size_t, unsigned int, const struct timespec *))
WF_REAL(ssize_t, mq_timedreceive,
	(mqd_t, char *, size_t, unsigned int *, const struct timespec *))
WF_REAL(int, mq_notify, (mqd_t, const struct sigevent *))
WF_REAL(int, semtimedop,
	(int, struct sembuf *, size_t, const struct timespec *))
WF_REAL(int, msgsnd, (int, const void *, size_t, int))
WF_REAL(ssize_t, msgrcv, (int, void *, size_t, long, int))

/* Asynchronous I/O. */
WF_REAL(int, aio_suspend,
	(const struct aiocb *const *, int, const struct timespec *))
WF_REAL(int, lio_listio, (int, struct aiocb *const *, int, struct sigevent *))

/* Files. */
WF_REAL(int, openat, (int, const char *, int, ...))
WF_REAL(int, __open_2, (const char *, int))
WF_REAL(int, __openat_2, (int, const char *, int))
WF_REAL(int, fclose, (FILE *))
WF_REAL(int, pclose, (FILE *))
WF_REAL(FILE *, freopen, (const char *, const char *, FILE *))
WF_REAL(FILE *, fopen, (const char *, const char *))
WF_REAL(int, flock, (int, int))
WF_REAL(int, fcntl, (int, int, ...))
WF_REAL(int, lockf, (int, int, off_t))
WF_REAL(int, fsync, (int))
WF_REAL(int, fdatasync, (int))
WF_REAL(int, syncfs, (int))
WF_REAL(void, sync, (void))
WF_REAL(int, msync, (void *, size_t, int))
WF_REAL(int, sync_file_range, (int, off_t, off_t, unsigned int))
WF_REAL(int, fallocate, (int, int, off_t, off_t))
WF_REAL(int, posix_fallocate, (int, off_t, off_t))
WF_REAL(int, ftruncate, (int, off_t))
WF_REAL(int, truncate, (const char *, off_t))
WF_REAL(ssize_t, sendfile, (int, int, off_t *, size_t))
WF_REAL(ssize_t, copy_file_range,
	(int, off_t *, int, off_t *, size_t, unsigned int))
WF_REAL(ssize_t, splice, (int, off_t *, int, off_t *, size_t, unsigned int))
WF_REAL(ssize_t, tee, (int, int, size_t, unsigned int))
WF_REAL(ssize_t, vmsplice, (int, const struct iovec *, size_t, unsigned int))

/* Paths below /proc. */
WF_REAL(int, access, (const char *, int))
WF_REAL(int, stat, (const char *, struct stat *))
WF_REAL(int, lstat, (const char *, struct stat *))
WF_REAL(int, fstatat, (int, const char *, struct stat *, int))
WF_REAL(int, statx, (int, const char *, int, unsigned int, struct statx *))
WF_REAL(DIR *, opendir, (const char *))
WF_REAL(DIR *, fdopendir, (int))
WF_REAL(int, closedir, (DIR *))
WF_REAL(void, rewinddir, (DIR *))
WF_REAL(struct dirent *, readdir, (DIR *))

/* For native threads: changes of credentials, and waits for signals. */
WF_REAL(int, setuid, (uid_t))
WF_REAL(int, setgid, (gid_t))
WF_REAL(int, setreuid, (uid_t, uid_t))
WF_REAL(int, setregid, (gid_t, gid_t))
WF_REAL(int, setresuid, (uid_t, uid_t, uid_t))
WF_REAL(int, setresgid, (gid_t, gid_t, gid_t))
WF_REAL(int, setgroups, (size_t, const gid_t *))
WF_REAL(int, pause, (void))
WF_REAL(int, sigsuspend, (const sigset_t *))
WF_REAL(int, sigtimedwait,
	(const sigset_t *, siginfo_t *, const struct timespec *))
