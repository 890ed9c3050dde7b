/* SPDX-License-Identifier: MIT */
/*
 * Free threads with the same class of slot are in a stack linked by `next`. So
 * the slot that was used last, and is in the cache, is used first. Threads that
 * stay in the stack from one wf_table_age to the next become old, and the
 * reaper gives back the memory of their slots (wf_slot_trim). A VP has a pool
 * above the shared stacks, which it fills and empties by halves. The pool has
 * no threads of tight classes, since no other VP could use them.
 */
#include "sched/table.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/upcall.h"
#include "libc/elf.h"
#include "os/mem.h"
#include "os/sys.h"

enum {
	/* Linux has at most so many process ids, and so threads. */
	MAX_THREADS = 1 << WF_TID_INDEX_BITS,
	BATCH = WF_POOL_SIZE / 2,
	TID_OF_NOBODY = -1, /* free, and in no list */
	/* The table grows by so many bytes at a time, or by fewer if the memory
	 * limit is near. */
	OPEN_BYTES = 1 << 18,
	LEAST_BYTES = 1 << 14,
};

struct wf_thread *wf_table;
_Atomic bool wf_table_has_spare;

/* protects wf_table_used, open_bytes */
static struct wf_spin grow_lock = WF_SPIN_INIT;
_Atomic uint32_t wf_table_used = 1;
static size_t open_bytes; /* how far the table may be accessed by now */
static _Atomic uint32_t fork_epoch = 1;
static struct wf_spin foreign_lock = WF_SPIN_INIT;
static void *free_foreign;

uint32_t wf_tid_seed;

static void choose_seed(void)
{
	wf_tid_seed = (uint32_t)wf_os_getpid() % WF_TID_GENERATIONS;
}

/*
 * Reserves address space for the table. It lies far below the mappings that the
 * kernel places, so that both can grow. Those take the topmost 1.1 TiB.
 * ThreadSanitizer permits mappings only in the topmost 1.5 TiB: with it the
 * table is closer to them and has room for fewer threads.
 */
int wf_table_init(void)
{
	char *near = wf_os_reserve(OPEN_BYTES);
	uintptr_t span = (uintptr_t)near;

	if (near == NULL)
		return -ENOMEM;
	if (wf_elf_has_thread_sanitizer())
		span = 1UL << 41;
	for (uintptr_t part = 8; part <= 64; part *= 2) {
		uintptr_t far = (uintptr_t)near - span / part;
		void *p = (void *)wf_align_down(far, WF_PAGE);

		if (wf_os_map_at(p, OPEN_BYTES)) {
			wf_os_release(near, OPEN_BYTES);
			near = p;
			break;
		}
	}
	choose_seed();
	wf_table = (struct wf_thread *)near;
	open_bytes = OPEN_BYTES;
	return 0;
}

static uint32_t room_of(size_t bytes)
{
	return (uint32_t)(bytes / sizeof(struct wf_thread));
}

uint32_t wf_table_room(void)
{
	uint32_t room;

	wf_spin_lock(&grow_lock, WF_RANK_THREAD_TABLE);
	room = room_of(open_bytes);
	wf_spin_unlock(&grow_lock);
	return room;
}

static bool open_bytes_locked(size_t bytes)
{
	uint32_t room = room_of(open_bytes + bytes);

	if (room > MAX_THREADS || wf_upcall.table_grows(room) < 0 ||
	    !wf_os_map_at((char *)wf_table + open_bytes, bytes))
		return false;
	open_bytes += bytes;
	return true;
}

static bool open_more_locked(void)
{
	for (size_t bytes = OPEN_BYTES; bytes >= LEAST_BYTES; bytes /= 4) {
		if (open_bytes_locked(bytes))
			return true;
	}
	return false;
}

/* Returns an index that was never used, or 0 if there is none. */
static uint32_t new_index(void)
{
	uint32_t i;

	wf_spin_lock(&grow_lock, WF_RANK_THREAD_TABLE);
	i = wf_load_relaxed(&wf_table_used);
	if (i >= room_of(open_bytes) && !open_more_locked())
		i = 0;
	else
		wf_store_release(&wf_table_used, i + 1);
	wf_spin_unlock(&grow_lock);
	return i;
}

uint32_t wf_table_high(void)
{
	return wf_load_acquire(&wf_table_used);
}

static struct wf_thread *pop(void **list)
{
	struct wf_thread *t = *list;

	if (t != NULL)
		*list = t->next;
	return t;
}

static void push(void **list, struct wf_thread *t)
{
	t->next = *list;
	*list = t;
}

/* --- shared lists ------------------------------------------------------- */

static void put_foreign(struct wf_thread *t)
{
	wf_spin_lock(&foreign_lock, WF_RANK_FOREIGN);
	push(&free_foreign, t);
	wf_spin_unlock(&foreign_lock);
}

static struct wf_thread *get_foreign(void)
{
	struct wf_thread *t;

	wf_spin_lock(&foreign_lock, WF_RANK_FOREIGN);
	t = pop(&free_foreign);
	wf_spin_unlock(&foreign_lock);
	return t;
}

static struct wf_thread *pop_locked(struct wf_slot_class *class)
{
	struct wf_thread *t = pop(&class->free_threads);

	return t != NULL ? t : pop(&class->old_threads);
}

/*
 * Takes free threads from the shared stack, the one used last first. Only if it
 * is empty, takes one with a trimmed slot.
 */
static uint32_t get_shared(struct wf_slot_class *class,
			   struct wf_thread **ret_threads, uint32_t max)
{
	uint32_t nr = 0;

	wf_spin_lock(&class->lock, WF_RANK_SLOT_CLASS);
	while (nr < max && (ret_threads[nr] = pop_locked(class)) != NULL)
		nr++;
	if (nr == 0 && (ret_threads[0] = pop(&class->cold_threads)) != NULL)
		nr = 1;
	wf_spin_unlock(&class->lock);
	return nr;
}

static void put_shared(struct wf_slot_class *class,
		       struct wf_thread *const *threads, uint32_t nr)
{
	wf_spin_lock(&class->lock, WF_RANK_SLOT_CLASS);
	for (uint32_t i = 0; i < nr; i++)
		push(&class->free_threads, threads[i]);
	wf_spin_unlock(&class->lock);
	wf_store_relaxed(&wf_table_has_spare, true);
}

static struct wf_thread *new_thread(struct wf_slot_class *class)
{
	struct wf_thread *t = get_foreign();
	uint32_t i = 0;
	int err;

	if (t == NULL) {
		i = new_index();
		if (i == 0)
			return NULL;
		t = wf_table_at(i);
		wf_store_relaxed(&t->sigqueue.is_closed,
				 true); /* until a thread uses it */
	}
	err = class != NULL ? wf_slot_map(class, &t->slot) : 0;
	/* The index is stored last: a fork child skips threads with index 0. */
	wf_compiler_barrier();
	if (i != 0)
		t->index = i;
	if (err < 0) {
		/* There is no memory for a slot: a foreign thread needs
		 * none. */
		put_foreign(t);
		return NULL;
	}
	return t;
}

/* --- pools of VPs ------------------------------------------------------- */

/* Returns the pool's row for the class; makes one if there is none. */
static struct wf_pool_class *place_of(struct wf_pool *pool,
				      struct wf_slot_class *class)
{
	uint32_t i;

	for (i = 0; i < WF_POOL_CLASSES; i++) {
		if (pool->of[i].class == class)
			return &pool->of[i];
	}
	for (i = 0; i < WF_POOL_CLASSES; i++) {
		if (pool->of[i].class == NULL)
			break;
	}
	if (i == WF_POOL_CLASSES) {
		i = pool->next_victim++ % WF_POOL_CLASSES;
		put_shared(pool->of[i].class, pool->of[i].threads,
			   pool->of[i].nr);
	}
	pool->of[i].class = class;
	pool->of[i].nr = 0;
	return &pool->of[i];
}

static struct wf_thread *get_pooled(struct wf_pool *pool,
				    struct wf_slot_class *class)
{
	struct wf_pool_class *last = pool->last = place_of(pool, class);

	pool->hot = NULL;
	if (last->nr == 0)
		last->nr = get_shared(class, last->threads, BATCH);
	if (last->nr == 0)
		return NULL;
	return last->threads[--last->nr];
}

static void put_pooled(struct wf_pool *pool, struct wf_slot_class *class,
		       struct wf_thread *t)
{
	struct wf_pool_class *last = pool->last = place_of(pool, class);

	pool->hot = t;
	if (last->nr == WF_POOL_SIZE) {
		/* Gives the older half to the shared stack: it is less likely
		 * to be in the cache. */
		put_shared(class, last->threads, BATCH);
		last->nr -= BATCH;
		memmove(last->threads, last->threads + BATCH,
			BATCH * sizeof(last->threads[0]));
	}
	last->threads[last->nr++] = t;
}

void wf_table_empty_pool(struct wf_pool *pool)
{
	for (uint32_t i = 0; i < WF_POOL_CLASSES; i++) {
		struct wf_pool_class *c = &pool->of[i];

		if (c->class != NULL)
			put_shared(c->class, c->threads, c->nr);
	}
	memset(pool, 0, sizeof(*pool));
}

/* --- pools and shared lists --------------------------------------------- */

/*
 * Takes a free thread with a larger stack, if there is no memory for a new
 * slot.
 */
static struct wf_thread *get_larger(const struct wf_slot_class *class)
{
	struct wf_slot_class *c;
	struct wf_thread *t = NULL;

	for (uint32_t i = 0; (c = wf_slot_class_at(i)) != NULL; i++) {
		if (wf_slot_class_serves(c, class) && get_shared(c, &t, 1) != 0)
			break;
	}
	return t;
}

struct wf_thread *wf_table_get_slow(struct wf_pool *pool,
				    struct wf_slot_class *class)
{
	struct wf_thread *t = NULL;

	if (pool != NULL && class != NULL && !class->is_tight)
		t = get_pooled(pool, class);
	else if (class != NULL)
		get_shared(class, &t, 1);
	if (t == NULL)
		t = new_thread(class);
	if (t == NULL && class != NULL)
		t = get_larger(class);
	if (t != NULL)
		t->generation++;
	return t;
}

void wf_table_put_slow(struct wf_pool *pool, struct wf_thread *t)
{
	struct wf_slot_class *class = t->slot.class;

	t->tid = 0;
	if (class == NULL)
		put_foreign(t);
	else if (pool != NULL && !class->is_tight)
		put_pooled(pool, class, t);
	else
		put_shared(class, &t, 1);
}

struct wf_thread *wf_table_take_old(struct wf_slot_class *class)
{
	struct wf_thread *t;

	wf_spin_lock(&class->lock, WF_RANK_SLOT_CLASS);
	t = pop(&class->old_threads);
	if (t != NULL)
		t->tid = TID_OF_NOBODY;
	wf_spin_unlock(&class->lock);
	return t;
}

void wf_table_put_cold(struct wf_thread *t)
{
	struct wf_slot_class *class = t->slot.class;

	wf_spin_lock(&class->lock, WF_RANK_SLOT_CLASS);
	t->tid = 0;
	push(&class->cold_threads, t);
	wf_spin_unlock(&class->lock);
}

bool wf_table_age(struct wf_slot_class *class)
{
	bool any;

	wf_spin_lock(&class->lock, WF_RANK_SLOT_CLASS);
	if (class->old_threads == NULL) {
		class->old_threads = class->free_threads;
		class->free_threads = NULL;
	}
	any = class->old_threads != NULL;
	wf_spin_unlock(&class->lock);
	return any;
}

uint32_t wf_table_fork_epoch(void)
{
	return wf_load_relaxed(&fork_epoch);
}

/*
 * When the parent forked, two threads may have been exchanging their stacks,
 * and both have the same one now. So all threads but `self` get their home
 * stack back. The thread with self's stack as home gets the one that is self's
 * home.
 */
static void send_stack_home(struct wf_thread *t, const struct wf_thread *self)
{
	const struct wf_slot *mine = &self->slot;
	bool is_mine;

	if (t->slot.class == NULL)
		return;
	is_mine = t->slot.class == mine->class &&
		  wf_slot_home(&t->slot) == mine->low;
	wf_slot_take_home(&t->slot, is_mine ? mine : &t->slot);
}

void wf_table_fork_child(struct wf_thread *self)
{
	uint32_t high = wf_table_high();

	choose_seed();
	wf_store_relaxed(&fork_epoch, wf_load_relaxed(&fork_epoch) + 1);
	foreign_lock = WF_SPIN_INIT;
	grow_lock = WF_SPIN_INIT;
	wf_slot_fork_child();
	/* Frees all threads but `self`, also those in the pools of VPs or in
	 * use in the parent. */
	free_foreign = NULL;
	for (uint32_t i = high; i-- > 1;) {
		struct wf_thread *t = wf_table_at(i);

		/* Index 0: the parent was making the thread when it forked. */
		if (t == self || t->index == 0)
			continue;
		send_stack_home(t, self);
		wf_store_relaxed(&t->not_started, 0);
		t->sigqueue = (struct wf_sigqueue){ .is_closed = true };
		wf_table_put(NULL, t);
	}
}

struct wf_thread *wf_table_by_tid(int32_t tid)
{
	uint32_t high = wf_table_high();
	uint32_t index = (uint32_t)tid & (MAX_THREADS - 1);

	if (tid > MAX_THREADS && index < high)
		return wf_table_at(index)->tid == tid ? wf_table_at(index) :
							NULL;
	/* The tid of a thread without a slot is its kernel thread's id: it is
	 * the process's first thread, or foreign. Such a thread is found by a
	 * walk. */
	for (uint32_t i = 1; i < high && tid > 0; i++) {
		struct wf_thread *t = wf_table_at(i);

		if (t->tid == tid)
			return t;
	}
	return NULL;
}
