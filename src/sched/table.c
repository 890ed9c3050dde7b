/*
 * Free threads of a class form a stack linked by `next`, so that the slot
 * used last, which is in the cache, is used first.
 */
#include "sched/table.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "os/mem.h"
#include "os/sys.h"

enum {
	/* 2^22: more than Linux has process ids for. */
	MAX_THREADS = 1 << 22,
	MIN_THREADS = 1 << 12,
	FIRST_TID = (1 << 22) + 1,
	END_TID = 1 << 30,
};

struct wf_thread *wf_table;
__thread struct wf_thread *wf_self;

static uint32_t nr_max;
static _Atomic uint32_t nr_used = 1;
static _Atomic uint32_t fork_epoch = 1;
static _Atomic uint32_t tid_counter;
static struct wf_spin foreign_lock = WF_SPIN_INIT;
static struct wf_thread *free_foreign;

int wf_table_init(void)
{
	for (nr_max = MAX_THREADS; nr_max >= MIN_THREADS; nr_max /= 2) {
		wf_table = wf_os_reserve((size_t)nr_max *
					 sizeof(struct wf_thread));
		if (wf_table != NULL)
			return 0;
	}
	return -ENOMEM;
}

uint32_t wf_table_high(void)
{
	uint32_t n = wf_load_acquire(&nr_used);

	return n < nr_max ? n : nr_max;
}

static struct wf_thread *new_thread(struct wf_slot_class *class)
{
	uint32_t i = atomic_fetch_add(&nr_used, 1);
	struct wf_thread *t;

	if (i >= nr_max) {
		atomic_fetch_sub(&nr_used, 1);
		return NULL;
	}
	t = wf_table_at(i);
	t->index = i;
	if (class != NULL && wf_slot_map(class, &t->slot) < 0) {
		/* Without memory it can still serve a foreign thread. */
		wf_table_put(t);
		return NULL;
	}
	return t;
}

static struct wf_thread *pop_free(struct wf_slot_class *class)
{
	struct wf_spin *lock = class != NULL ? &class->lock : &foreign_lock;
	struct wf_thread *t;

	wf_spin_lock(lock);
	t = class != NULL ? class->free_threads : free_foreign;
	if (t != NULL && class != NULL)
		class->free_threads = t->next;
	else if (t != NULL)
		free_foreign = t->next;
	wf_spin_unlock(lock);
	return t;
}

struct wf_thread *wf_table_get(struct wf_slot_class *class)
{
	struct wf_thread *t = pop_free(class);

	if (t == NULL)
		t = new_thread(class);
	if (t != NULL)
		t->generation++;
	return t;
}

void wf_table_put(struct wf_thread *t)
{
	struct wf_slot_class *class = t->slot.class;

	t->tid = 0;
	if (class == NULL) {
		wf_spin_lock(&foreign_lock);
		t->next = free_foreign;
		free_foreign = t;
		wf_spin_unlock(&foreign_lock);
		return;
	}
	wf_spin_lock(&class->lock);
	t->next = class->free_threads;
	class->free_threads = t;
	wf_spin_unlock(&class->lock);
}

uint32_t wf_table_fork_epoch(void)
{
	return wf_load_relaxed(&fork_epoch);
}

void wf_table_fork_child(struct wf_thread *self)
{
	uint32_t high = wf_table_high();

	wf_store_relaxed(&fork_epoch, wf_load_relaxed(&fork_epoch) + 1);
	foreign_lock = WF_SPIN_INIT;
	wf_slot_fork_child();
	for (uint32_t i = 1; i < high; i++) {
		struct wf_thread *t = wf_table_at(i);

		/* tid 0 is on a free list already. */
		if (t == self || t->tid == 0)
			continue;
		wf_store_relaxed(&t->unstarted, 0);
		wf_table_put(t);
	}
}

int32_t wf_table_new_tid(void)
{
	uint32_t n = atomic_fetch_add(&tid_counter, 1);

	return (int32_t)(FIRST_TID + n % (END_TID - FIRST_TID));
}

struct wf_thread *wf_table_by_tid(int32_t tid)
{
	uint32_t high = wf_table_high();

	for (uint32_t i = 1; i < high && tid != 0; i++) {
		struct wf_thread *t = wf_table_at(i);

		if (t->tid == tid)
			return t;
	}
	return NULL;
}

long wf_log_thread_id(void)
{
	return wf_self != NULL ? wf_self->tid : wf_os_gettid();
}
