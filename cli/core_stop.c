/* SPDX-License-Identifier: MIT */
/*
 * A thread that is not stopped yet may make another one. So the list is read
 * again until it has no new thread: then all were stopped while it was read.
 */
#include "core_stop.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "see/grow.h"

/* More is a process that makes threads faster than they are stopped. */
enum { MOST_ROUNDS = 1000 };

static bool is_stopped(const struct wf_core_stop *stop, int tid)
{
	for (size_t i = 0; i < stop->nr; i++)
		if (stop->threads[i].tid == tid)
			return true;
	return false;
}

/* Returns 0 or -Exxx. */
static int stop_one(struct wf_core_stop *stop, int tid)
{
	void *more =
		wf_see_grow(stop->threads, stop->nr, sizeof(*stop->threads));

	if (more == NULL)
		return -ENOMEM;
	stop->threads = more;
	errno = 0;
	if (wf_see_stop(tid, &stop->threads[stop->nr]))
		stop->nr++;
	else if (errno == EPERM)
		stop->was_refused = true;
	return 0;
}

/* Returns how many were new, or -Exxx. */
static int stop_new(int pid, struct wf_core_stop *stop)
{
	size_t before = stop->nr;
	struct dirent *entry;
	char path[64];
	int err = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err == 0 && (entry = readdir(tasks)) != NULL) {
		int tid = atoi(entry->d_name);

		if (tid > 0 && !is_stopped(stop, tid))
			err = stop_one(stop, tid);
	}
	closedir(tasks);
	return err < 0 ? err : (int)(stop->nr - before);
}

int wf_core_stop(int pid, struct wf_core_stop *ret_stop)
{
	int nr = 1;

	*ret_stop = (struct wf_core_stop){ 0 };
	for (int i = 0; i < MOST_ROUNDS && nr > 0; i++)
		nr = stop_new(pid, ret_stop);
	/* The process's first thread cannot be stopped if it has ended. */
	if (nr == 0 && ret_stop->nr > 0)
		return 0;
	if (nr == 0)
		nr = ret_stop->was_refused ? -EPERM : -ESRCH;
	wf_core_go_on(ret_stop);
	return nr < 0 ? nr : -EAGAIN;
}

void wf_core_go_on(struct wf_core_stop *stop)
{
	for (size_t i = 0; i < stop->nr; i++)
		wf_see_go_on(&stop->threads[i]);
	free(stop->threads);
	*stop = (struct wf_core_stop){ 0 };
}
