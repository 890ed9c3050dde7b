/* SPDX-License-Identifier: MIT */
/* The list of all kinds of locks, and the functions that all kinds share. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fence.h"
#include "kinds.h"

enum { CACHE_LINE = 64 };

#ifdef LOCK_COUNT
_Thread_local int lock_nr_fences, lock_nr_store_fences;
#endif

const struct lock_kind *const lock_kinds[] = {
	&lock_none,	&lock_mutex,  &lock_semaphore, &lock_plain,
	&lock_peterson, &lock_bakery, &lock_fast,      NULL,
};

const struct lock_kind *lock_kind_named(const char *name)
{
	for (int i = 0; lock_kinds[i] != NULL; i++) {
		if (strcmp(lock_kinds[i]->name, name) == 0)
			return lock_kinds[i];
	}
	return NULL;
}

static bool has_one_cpu(void)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 &&
	       CPU_COUNT(&allowed) == 1;
}

const char *lock_kind_unfit(const struct lock_kind *kind, int nr_threads)
{
	if (nr_threads > kind->max_threads)
		return "the lock is not for so many threads";
	if (kind->needs_one_cpu && nr_threads > 1 && !has_one_cpu())
		return "the lock needs a process with one CPU";
	return NULL;
}

struct lock *lock_new(const struct lock_kind *kind, int nr_threads)
{
	size_t size = kind->size(nr_threads) + CACHE_LINE - 1;
	struct lock *lock;

	size -= size % CACHE_LINE;
	lock = aligned_alloc(CACHE_LINE, size);
	if (lock == NULL)
		return NULL;
	memset(lock, 0, size);
	errno = kind->init(lock, nr_threads);
	if (errno != 0) {
		free(lock);
		return NULL;
	}
	return lock;
}

void lock_free(const struct lock_kind *kind, struct lock *lock)
{
	kind->fini(lock);
	free(lock);
}

int lock_no_init(struct lock *lock, int nr_threads)
{
	return 0;
}

void lock_no_fini(struct lock *lock)
{
}

static size_t none_size(int nr_threads)
{
	return 1;
}

static void none_call(struct lock *lock, int me)
{
}

const struct lock_kind lock_none = {
	.name = "none",
	.max_threads = 1,
	.size = none_size,
	.init = lock_no_init,
	.fini = lock_no_fini,
	.lock = none_call,
	.unlock = none_call,
};
