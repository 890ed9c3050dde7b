/* SPDX-License-Identifier: MIT */
/*
 * A library that is loaded with RTLD_DEEPBIND finds its own symbols and those
 * of libc first. Its calls on the program's locks must reach weft, as the
 * program's calls do, and not libc.
 */
#include <pthread.h>
#include <stdio.h>

#include "modules.h"
#include "threading.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int is_set;

static void (*unlock)(pthread_rwlock_t *lock);
static void (*wait_for)(pthread_cond_t *cond, pthread_mutex_t *mutex);

static void *take(void *arg)
{
	CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
	unlock(&lock);
	CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
	unlock(&lock);
	return arg;
}

static void *set(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	is_set = 1;
	CHECK_EQ(pthread_cond_signal(&cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return arg;
}

int main(void)
{
	void *module = module_open_by("deep_module.so",
				      RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	pthread_t setter;

	*(void **)&unlock = dlsym(module, "deep_unlock");
	*(void **)&wait_for = dlsym(module, "deep_wait");
	CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
	unlock(&lock);
	thread_join(thread_start(take, NULL));
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	setter = thread_start(set, NULL);
	while (!is_set)
		wait_for(&cond, &mutex);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	thread_join(setter);
	puts("all were the same locks");
	return 0;
}
