/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of a process by process_vm_readv. The process is not
 * stopped, and nothing in it changes. A read that meets an unreadable page
 * returns the bytes before that page.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "source.h"

/* A process may map a file for each of its threads, but not more. */
enum { MAX_MAPS = 1 << 20 };

static size_t read_memory(const struct wf_see_source *s, uint64_t address,
			  void *to, size_t bytes)
{
	struct iovec here = { to, bytes };
	struct iovec there = { (void *)(uintptr_t)address, bytes };
	ssize_t n = process_vm_readv(s->pid, &here, 1, &there, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

static void close_process(struct wf_see_source *s)
{
	wf_see_maps_free(s);
	free(s);
}

bool wf_see_map_parse(char *line, struct wf_see_map *ret_map)
{
	unsigned long start, end, offset;
	char access[5];
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &end, access,
		   &offset, &at) != 4 ||
	    at == 0 || line[at] != '/')
		return false;
	*ret_map = (struct wf_see_map){ .start = start,
					.end = end,
					.offset = offset,
					.name = line + at,
					.is_code = access[2] == 'x' };
	return true;
}

static int read_maps(struct wf_see_source *s)
{
	struct wf_see_map map;
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", s->pid);
	file = fopen(path, "re");
	if (file == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while (err == 0 && s->nr_maps < MAX_MAPS &&
	       getline(&line, &room, file) > 0) {
		if (wf_see_map_parse(line, &map))
			err = wf_see_map_add(s, &map);
	}
	/* Without permission the file opens, and reads fail or are empty. */
	if (err == 0 && s->nr_maps == 0 && errno != 0)
		err = -errno;
	free(line);
	fclose(file);
	return err;
}

/* The kernel tells by the result of a read whether the caller may. */
static int check_access(const struct wf_see_source *s)
{
	struct iovec here = { NULL, 0 }, there = { NULL, 0 };

	return process_vm_readv(s->pid, &here, 1, &there, 1, 0) < 0 ? -errno :
								      0;
}

/*
 * The last number of the line NSpid is the one that the process sees. Returns
 * it, and how many there are.
 */
static int inner_tid(int pid, int tid, int *ret_levels)
{
	char path[64], line[256], *word, *rest = line;
	int inner = 0;
	FILE *file;

	*ret_levels = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL &&
	       strncmp(line, "NSpid:", 6) != 0)
		line[0] = '\0';
	fclose(file);
	for (strtok_r(line, " \t\n", &rest);
	     (word = strtok_r(NULL, " \t\n", &rest)) != NULL; ++*ret_levels)
		inner = atoi(word);
	return inner;
}

int wf_see_outer_tid(const struct wf_see_source *s, int tid)
{
	struct dirent *entry;
	int outer = 0, levels;
	char path[64];
	DIR *tasks;

	if (!s->has_inner_pids)
		return tid;
	snprintf(path, sizeof(path), "/proc/%d/task", s->pid);
	tasks = opendir(path);
	while (tasks != NULL && outer == 0 &&
	       (entry = readdir(tasks)) != NULL) {
		int task = atoi(entry->d_name);

		if (task > 0 && inner_tid(s->pid, task, &levels) == tid)
			outer = task;
	}
	if (tasks != NULL)
		closedir(tasks);
	return outer;
}

int wf_see_process_open(int pid, struct wf_see_source **ret_source)
{
	struct wf_see_source *s = calloc(1, sizeof(*s));
	int err, levels;

	if (s == NULL)
		return -ENOMEM;
	s->pid = pid;
	inner_tid(pid, pid, &levels);
	s->has_inner_pids = levels > 1;
	s->read = read_memory;
	s->close = close_process;
	err = check_access(s);
	if (err == 0)
		err = read_maps(s);
	if (err < 0) {
		close_process(s);
		return err == -EACCES ? -EPERM : err;
	}
	*ret_source = s;
	return 0;
}
