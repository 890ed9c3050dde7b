/* SPDX-License-Identifier: MIT */
/*
 * The directory /proc/self/task: the kernel lists weft's kernel threads in it,
 * and a program expects its threads. So readdir() gives the ids of the threads
 * in weft's table. A stream on that directory has an entry in `lists` from its
 * opening until it is closed.
 *
 * PROC_LIST-1. An entry is free while dir is NULL. The thread that replaces
 *     NULL by a stream owns the entry until the stream is closed. The other
 *     fields are the stream's: like the stream, they are used by one thread at
 *     a time.
 */
/* Otherwise libc's headers rename each function to its 64-bit variant. */
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "api/proc/proc.h"
#include "base/log.h"
#include "base/atomic.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/table.h"

/* The table of threads has no thread at index 0. */
enum { MAX_LISTS = 32, NR_DOTS = 2, FIRST = NR_DOTS - 1 };

struct list {
	_Atomic(DIR *) dir;  /* PROC_LIST-1 */
	uint32_t next;	     /* 0 and 1: dots; then FIRST + a thread's index */
	struct dirent entry; /* the last one that readdir() returned */
};

static struct list lists[MAX_LISTS];
static _Atomic uint32_t nr_lists; /* 0: readdir() need not search */

/* The entry of a stream, or NULL. */
static struct list *list_of(const DIR *dir)
{
	if (WF_LIKELY(wf_load_relaxed(&nr_lists) == 0) || dir == NULL)
		return NULL;
	for (int i = 0; i < MAX_LISTS; i++) {
		if (wf_load_relaxed(&lists[i].dir) == dir)
			return &lists[i];
	}
	return NULL;
}

/*
 * Adds a stream to `lists`. If all entries are in use, the stream shows the
 * kernel's list.
 */
static void add(DIR *dir)
{
	for (int i = 0; i < MAX_LISTS; i++) {
		DIR *none = NULL;

		if (!wf_cas_acq_rel(&lists[i].dir, &none, dir))
			continue;
		lists[i].next = 0;
		atomic_fetch_add(&nr_lists, 1);
		return;
	}
}

static void drop(struct list *l)
{
	wf_store_release(&l->dir, NULL);
	atomic_fetch_sub(&nr_lists, 1);
}

static bool is_list(const char *path)
{
	const char *own = wf_proc_is_below(path) ? wf_proc_skip_own(path) :
						   NULL;

	return own != NULL &&
	       (strcmp(own, "/task") == 0 || strcmp(own, "/task/") == 0);
}

WF_API(DIR *, opendir, const char *path)
{
	struct wf_proc_path p;
	DIR *dir = wf_real.opendir(wf_proc_path(path, &p));

	if (dir != NULL && is_list(path))
		add(dir);
	return dir;
}

static bool leads_to_list(int fd)
{
	char link[sizeof("/proc/self/fd/") + 10];
	struct wf_proc_path path;
	long len;

	wf_format(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = wf_sys(SYS_readlinkat, AT_FDCWD, link, path.text,
		     sizeof(path.text) - 1);
	path.text[len > 0 ? len : 0] = '\0';
	return is_list(path.text);
}

WF_API(DIR *, fdopendir, int fd)
{
	DIR *dir = wf_real.fdopendir(fd);

	if (dir != NULL && wf_is_started() && leads_to_list(fd))
		add(dir);
	return dir;
}

WF_API(int, closedir, DIR *dir)
{
	struct list *l = list_of(dir);

	if (l != NULL)
		drop(l);
	return wf_real.closedir(dir);
}

WF_API(void, rewinddir, DIR *dir)
{
	struct list *l = list_of(dir);

	if (l != NULL)
		l->next = 0;
	wf_real.rewinddir(dir);
}

/* Returns NULL after the last thread. */
static const struct wf_thread *next_thread(struct list *l)
{
	while (l->next - FIRST < wf_table_high()) {
		const struct wf_thread *t = wf_table_at(l->next++ - FIRST);

		if (wf_thread_exists(t))
			return t;
	}
	return NULL;
}

static struct dirent *next_entry(struct list *l)
{
	const char *const dots = "..";
	struct dirent *e = &l->entry;
	const struct wf_thread *t;

	if (l->next < NR_DOTS) {
		strcpy(e->d_name, dots + (NR_DOTS - 1 - l->next++));
	} else {
		t = next_thread(l);
		if (t == NULL)
			return NULL;
		wf_format(e->d_name, sizeof(e->d_name), "%d", t->tid);
	}
	e->d_ino = e->d_off = l->next;
	e->d_type = DT_DIR;
	e->d_reclen = sizeof(*e);
	return e;
}

WF_API(struct dirent *, readdir, DIR *dir)
{
	struct list *l = list_of(dir);

	return l != NULL ? next_entry(l) : wf_real.readdir(dir);
}
WF_API_ALIAS_64(readdir, readdir64);
