/* SPDX-License-Identifier: MIT */
/*
 * The locks of bench/papers/locks, built with fence counters: each kind has the
 * properties that it declares.
 */
#include <string.h>

#include "check.h"

#include "../../bench/papers/locks/fence.h"
#include "locks.h"

static void check_fences(const struct lock_kind *kind, int nr_threads)
{
	struct lock *lock = lock_new(kind, nr_threads);
	int me = nr_threads - 1;

	CHECK(lock != NULL);
	/* In the second round the variables have other values. */
	for (int i = 0; i < 2; i++) {
		lock_nr_fences = lock_nr_store_fences = 0;
		kind->lock(lock, me);
		CHECK_EQ(lock_nr_fences, kind->lock_fences);
		CHECK_EQ(lock_nr_store_fences, kind->lock_store_fences);
		lock_nr_fences = lock_nr_store_fences = 0;
		kind->unlock(lock, me);
		CHECK_EQ(lock_nr_fences, kind->unlock_fences);
		CHECK_EQ(lock_nr_store_fences, 0);
	}
	lock_free(kind, lock);
}

TEST(fences_are_counted)
{
	for (int i = 0; lock_kinds[i] != NULL; i++) {
		check_current = lock_kinds[i]->name;
		for (int nr = 1; nr <= 8; nr++) {
			if (nr <= lock_kinds[i]->max_threads)
				check_fences(lock_kinds[i], nr);
		}
	}
}

TEST(locks_of_loads_and_stores_have_fences)
{
	CHECK(lock_kind_named("peterson")->lock_fences > 0);
	CHECK(lock_kind_named("bakery")->lock_fences > 0);
	CHECK(lock_kind_named("fast")->lock_fences > 0);
}

TEST(names)
{
	for (int i = 0; lock_kinds[i] != NULL; i++)
		CHECK(lock_kind_named(lock_kinds[i]->name) == lock_kinds[i]);
	CHECK(lock_kind_named("") == NULL);
	CHECK(lock_kind_named("bakery2") == NULL);
}

TEST(unfit)
{
	CHECK(lock_kind_unfit(lock_kind_named("peterson"), 2) == NULL);
	CHECK(lock_kind_unfit(lock_kind_named("peterson"), 3) != NULL);
	CHECK(lock_kind_unfit(lock_kind_named("plain"), 1) == NULL);
	CHECK(lock_kind_unfit(lock_kind_named("none"), 2) != NULL);
}

/* Freed locks can be made again. */
TEST(many_semaphores)
{
	const struct lock_kind *kind = lock_kind_named("semaphore");

	for (int i = 0; i < 1000; i++) {
		struct lock *lock = lock_new(kind, 2);

		CHECK(lock != NULL);
		kind->lock(lock, i % 2);
		kind->unlock(lock, i % 2);
		lock_free(kind, lock);
	}
}
