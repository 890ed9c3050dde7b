/* SPDX-License-Identifier: MIT */
/*
 * In a fork child, libc initialises the locks of dlopen and of TLS anew. A
 * third lock stays as it was: ld.so holds it while it changes its lists of
 * objects, and while dl_iterate_phdr walks them. If another thread of the
 * parent held it, the child waits for it without end. Natively that happens to
 * a child that loads a library or throws an exception. On weft it would happen
 * to one that creates a thread. So weft frees the lock in the child.
 *
 * The lock has no name outside ld.so. It is the one recursive mutex in ld.so's
 * variables that the calling thread holds during dl_iterate_phdr and not
 * afterwards.
 */
#include "libc/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "libc/layout.h"
#include "libc/real.h"
#include "os/mem.h"

enum { MOST_HELD = 4 };

struct held {
	pthread_mutex_t *mutexes[MOST_HELD];
	size_t nr;
};

static pthread_mutex_t *list_lock; /* NULL: not found */
static bool is_torn; /* a thread of the parent was changing the lists */

static bool is_mine(const pthread_mutex_t *m)
{
	int tid = *(int *)(wf_cpu_thread_register() + wf_libc.tid_offset);

	return m->__data.__lock != 0 && m->__data.__owner == tid &&
	       m->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP;
}

static int note_held(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct held *held = arg;

	/* The locks lie before the lists of stacks. */
	for (char *p = wf_libc.rtld_global;
	     p + sizeof(pthread_mutex_t) <= (char *)wf_libc.stack_user_list;
	     p += sizeof(void *)) {
		if (held->nr < MOST_HELD && is_mine((pthread_mutex_t *)p))
			held->mutexes[held->nr++] = (pthread_mutex_t *)p;
	}
	return 1;
}

void wf_loader_find_lock(void)
{
	struct held held = { .nr = 0 };

	if (list_lock != NULL)
		return;
	wf_real.dl_iterate_phdr(note_held, &held);
	for (size_t i = 0; i < held.nr; i++) {
		if (!is_mine(held.mutexes[i]))
			list_lock = held.mutexes[i];
	}
}

void wf_loader_fork_child(void)
{
	if (list_lock == NULL || list_lock->__data.__lock == 0)
		return;
	is_torn = true;
	*list_lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

bool wf_loader_has(const struct dl_phdr_info *info)
{
	ElfW(Phdr) first;
	const struct iovec from = { (void *)info->dlpi_phdr, sizeof(first) };

	/* If the kernel refuses the call, the object counts as present. */
	return !is_torn ||
	       wf_os_peek(&from, 1, &first, sizeof(first)) != -EFAULT;
}
