/* SPDX-License-Identifier: MIT */
/*
 * Waits until threads wait: the kernel says whether a thread runs, and a test
 * need not hope that some milliseconds are enough.
 *
 *     thread = thread_start(waiter, &sem);
 *     await_rest();
 *     ...                     the waiter waits in sem_wait
 *
 * On weft a parked thread has no kernel thread that waits. But once all threads
 * wait, the carriers sleep, and the kernel shows that. Where other threads
 * compute, wait for a counter instead.
 */
#ifndef REST_H
#define REST_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns whether a kernel thread runs, or waits briefly, for example for a
 * disk or for its child's exec. The path begins at the folder, because weft
 * takes /proc/self/task/ID for a thread of its own.
 */
static inline bool rest_runs(int tasks, const char *tid)
{
	char path[32], line[128];
	const char *end;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "%.16s/stat", tid);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false; /* the kernel thread has ended */
	length = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[length > 0 ? length : 0] = '\0';
	end = strrchr(line, ')');
	return end != NULL && strchr("RD", end[2]) != NULL;
}

/* Returns whether the caller runs on this kernel thread. */
static inline bool rest_is_own(const char *tid)
{
	char target[64];
	ssize_t length =
		readlink("/proc/thread-self", target, sizeof(target) - 1);

	target[length > 0 ? length : 0] = '\0';
	return length > 0 && strcmp(strrchr(target, '/') + 1, tid) == 0;
}

static inline void rest_turn(void)
{
	nanosleep(&(struct timespec){ 0, 500000 }, NULL);
}

/* Returns when each kernel thread but the caller's has been seen asleep. */
static inline void rest_look(const char *folder)
{
	DIR *tasks = opendir(folder);
	struct dirent *entry;

	while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
		while (entry->d_name[0] != '.' &&
		       rest_runs(dirfd(tasks), entry->d_name) &&
		       !rest_is_own(entry->d_name))
			rest_turn();
	}
	if (tasks != NULL)
		closedir(tasks);
}

/*
 * Returns when all other threads of the process wait, or when it has ended. It
 * checks several times and yields in between, because a thread that was
 * preempted on its way to a wait also looks quiet.
 */
static inline void await_rest_of(pid_t process)
{
	char folder[32];

	/*
	 * With the dot weft lists the kernel's threads. Without it weft lists
	 * the program's threads. These ids have no files, so all threads would
	 * seem to have ended.
	 */
	snprintf(folder, sizeof(folder), "/proc/%d/task/.", (int)process);
	for (int looks = 0; looks < 3; looks++) {
		rest_turn();
		rest_look(folder);
	}
}

/* Waits for this process's other threads. */
static inline void await_rest(void)
{
	await_rest_of(getpid());
}

#ifdef __cplusplus
}
#endif

#endif
