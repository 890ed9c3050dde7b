/* SPDX-License-Identifier: MIT */
/*
 * Keyrings that belong to the calling thread: each thread finds its own keys
 * and no other thread's, however often it yields.
 */
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 8, NR_YIELDS = 100, NR_IN_A_ROW = 50 };

static long keyctl(int operation, long a, long b, long c, long d)
{
	return syscall(SYS_keyctl, operation, a, b, c, d);
}

static long add_key(const char *name, const char *payload, int ring)
{
	return syscall(SYS_add_key, "user", name, payload, strlen(payload),
		       ring);
}

/* The kernel only finds keys that the caller possesses. */
static long find_key(const char *name, int ring)
{
	long key = keyctl(KEYCTL_SEARCH, ring, (long)"user", (long)name, 0);

	if (key < 0)
		CHECK_EQ(errno, ENOKEY);
	return key;
}

static long ring_id(int ring)
{
	return keyctl(KEYCTL_GET_KEYRING_ID, ring, 0, 0, 0);
}

static void need_keys(void)
{
	if (add_key("probe", "x", KEY_SPEC_SESSION_KEYRING) < 0)
		SKIP("keyrings are not allowed");
}

static void check_payload(long key, const char *expected)
{
	char payload[32] = "";

	CHECK_EQ(keyctl(KEYCTL_READ, key, (long)payload, sizeof(payload), 0),
		 strlen(expected));
	CHECK(strcmp(payload, expected) == 0);
}

static void *keep_key(void *arg)
{
	char name[16], payload[32];
	long key, mine;

	snprintf(name, sizeof(name), "of %d", (int)(intptr_t)arg);
	snprintf(payload, sizeof(payload), "payload %d", (int)(intptr_t)arg);
	mine = add_key(name, payload, KEY_SPEC_THREAD_KEYRING);
	key = add_key("common", payload, KEY_SPEC_THREAD_KEYRING);
	CHECK(mine > 0 && key > 0);
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		CHECK_EQ(find_key(name, KEY_SPEC_THREAD_KEYRING), mine);
		CHECK_EQ(find_key("common", KEY_SPEC_THREAD_KEYRING), key);
		check_payload(key, payload);
		CHECK_EQ(syscall(SYS_request_key, "user", name, NULL, 0), mine);
	}
	for (int i = 0; i < NR_THREADS; i++) {
		snprintf(name, sizeof(name), "of %d", i);
		CHECK_EQ(find_key(name, KEY_SPEC_THREAD_KEYRING) > 0,
			 i == (intptr_t)arg);
	}
	return arg;
}

TEST(keys_of_each_thread)
{
	pthread_t threads[NR_THREADS];

	need_keys();
	threads_start_numbered(threads, NR_THREADS, keep_key);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(find_key("common", KEY_SPEC_THREAD_KEYRING), -1);
}

static void *has_no_key(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(find_key(arg, KEY_SPEC_THREAD_KEYRING), -1);
		sched_yield();
	}
	return arg;
}

static void *begin_without_keys(void *arg)
{
	thread_join(thread_start(has_no_key, arg));
	CHECK_EQ(find_key(arg, KEY_SPEC_THREAD_KEYRING), -1);
	CHECK(add_key(arg, "x", KEY_SPEC_THREAD_KEYRING) > 0);
	thread_join(thread_start(has_no_key, arg));
	sched_yield();
	CHECK(find_key(arg, KEY_SPEC_THREAD_KEYRING) > 0);
	return arg;
}

TEST(keyring_is_empty_when_a_thread_starts)
{
	need_keys();
	for (int i = 0; i < NR_IN_A_ROW; i++)
		thread_join(thread_start(begin_without_keys, "key"));
	has_no_key("key");
}

/* The first thread makes its keyring before the process has other threads. */
TEST(keyring_from_before_the_first_thread)
{
	pthread_t threads[NR_THREADS];
	long key;

	need_keys();
	key = add_key("early", "x", KEY_SPEC_THREAD_KEYRING);
	CHECK(key > 0);
	threads_start(threads, NR_THREADS, has_no_key, "early");
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(find_key("early", KEY_SPEC_THREAD_KEYRING), key);
		sched_yield();
	}
	threads_join(threads, NR_THREADS);
	threads_start_numbered(threads, NR_THREADS, keep_key);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(find_key("early", KEY_SPEC_THREAD_KEYRING), key);
}

/* --- calls that make the keyring, or put a key into it -------------------- */

static void by_id(long key)
{
	CHECK(keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_THREAD_KEYRING, 1, 0, 0) >
	      0);
	CHECK_EQ(keyctl(KEYCTL_LINK, key, ring_id(KEY_SPEC_THREAD_KEYRING), 0,
			0),
		 0);
}

static void by_link(long key)
{
	CHECK_EQ(keyctl(KEYCTL_LINK, key, KEY_SPEC_THREAD_KEYRING, 0, 0), 0);
}

static void by_clear(long key)
{
	CHECK_EQ(keyctl(KEYCTL_CLEAR, KEY_SPEC_THREAD_KEYRING, 0, 0, 0), 0);
	by_link(key);
}

static void by_permissions(long key)
{
	CHECK_EQ(keyctl(KEYCTL_SETPERM, KEY_SPEC_THREAD_KEYRING, 0x3f3f0000, 0,
			0),
		 0);
	by_link(key);
}

static void by_move(long key)
{
	long ring = add_key("moved", "x", KEY_SPEC_SESSION_KEYRING);

	CHECK(ring > 0);
	CHECK_EQ(keyctl(KEYCTL_MOVE, ring, KEY_SPEC_SESSION_KEYRING,
			KEY_SPEC_THREAD_KEYRING, 0),
		 0);
	by_link(key);
}

static void by_search(long key)
{
	CHECK_EQ(keyctl(KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, (long)"user",
			(long)"shared", KEY_SPEC_THREAD_KEYRING),
		 key);
}

static void by_request(long key)
{
	CHECK_EQ(syscall(SYS_request_key, "user", "shared", NULL,
			 KEY_SPEC_THREAD_KEYRING),
		 key);
}

static void (*const ways[])(long) = { by_id,	      by_link, by_clear,
				      by_permissions, by_move, by_search,
				      by_request };
enum { NR_WAYS = sizeof(ways) / sizeof(ways[0]) };

static void *have_keyring(void *arg)
{
	long key = add_key("shared", "x", KEY_SPEC_SESSION_KEYRING);
	long ring;

	CHECK(key > 0);
	CHECK_EQ(find_key("shared", KEY_SPEC_THREAD_KEYRING), -1);
	ways[(intptr_t)arg](key);
	ring = ring_id(KEY_SPEC_THREAD_KEYRING);
	CHECK(ring > 0);
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		CHECK_EQ(find_key("shared", KEY_SPEC_THREAD_KEYRING), key);
		CHECK_EQ(ring_id(KEY_SPEC_THREAD_KEYRING), ring);
	}
	CHECK_EQ(keyctl(KEYCTL_UNLINK, key, KEY_SPEC_THREAD_KEYRING, 0, 0), 0);
	sched_yield();
	CHECK_EQ(find_key("shared", KEY_SPEC_THREAD_KEYRING), -1);
	return (void *)ring;
}

TEST(keyring_by_each_call)
{
	pthread_t threads[NR_WAYS], others[NR_THREADS];
	void *rings[NR_WAYS];

	need_keys();
	/* All threads need a session keyring; join one if there is none. */
	CHECK(keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) > 0);
	CHECK(add_key("shared", "x", KEY_SPEC_SESSION_KEYRING) > 0);
	threads_start(others, NR_THREADS, has_no_key, "shared");
	threads_start_numbered(threads, NR_WAYS, have_keyring);
	for (int i = 0; i < NR_WAYS; i++) {
		rings[i] = thread_join(threads[i]);
		for (int j = 0; j < i; j++)
			CHECK(rings[i] != rings[j]);
	}
	threads_join(others, NR_THREADS);
}

/* --- process and session keyrings ----------------------------------------- */

static void *finds_key(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK(find_key(arg, KEY_SPEC_PROCESS_KEYRING) > 0);
		sched_yield();
	}
	return arg;
}

static _Atomic int is_made;

static void *finds_no_process_key(void *arg)
{
	for (int i = 0; i < NR_YIELDS || !is_made; i++) {
		CHECK_EQ(find_key(arg, KEY_SPEC_PROCESS_KEYRING), -1);
		sched_yield();
	}
	return arg;
}

static void *make_process_keyring(void *arg)
{
	CHECK(add_key(arg, "x", KEY_SPEC_PROCESS_KEYRING) > 0);
	is_made = 1;
	thread_join(thread_start(finds_key, arg));
	return finds_key(arg);
}

/*
 * The kernel gives a new process keyring only to its maker and to later
 * threads.
 */
TEST(process_keyring_that_a_thread_makes)
{
	pthread_t threads[NR_THREADS];

	need_keys();
	threads_start(threads, NR_THREADS, finds_no_process_key, "late");
	thread_join(thread_start(make_process_keyring, "late"));
	threads_join(threads, NR_THREADS);
	CHECK_EQ(find_key("late", KEY_SPEC_PROCESS_KEYRING), -1);
}

TEST(process_keyring_from_before_the_first_thread)
{
	pthread_t threads[NR_THREADS];

	need_keys();
	CHECK(add_key("early", "x", KEY_SPEC_PROCESS_KEYRING) > 0);
	threads_start(threads, NR_THREADS, finds_key, "early");
	threads_join(threads, NR_THREADS);
	CHECK(add_key("more", "x", KEY_SPEC_PROCESS_KEYRING) > 0);
	thread_join(thread_start(finds_key, "more"));
}

static void *join_session(void *arg)
{
	long ring = keyctl(KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0);

	CHECK(ring > 0);
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		CHECK_EQ(ring_id(KEY_SPEC_SESSION_KEYRING), ring);
	}
	return (void *)ring;
}

static void *add_to_session(void *arg)
{
	long key = add_key("session", "x", KEY_SPEC_SESSION_KEYRING);
	long ring = ring_id(KEY_SPEC_SESSION_KEYRING);

	CHECK(key > 0);
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		CHECK_EQ(ring_id(KEY_SPEC_SESSION_KEYRING), ring);
		CHECK_EQ(find_key("session", KEY_SPEC_SESSION_KEYRING), key);
	}
	return (void *)ring;
}

/*
 * Without a session keyring the kernel makes one for a thread that adds a key.
 */
TEST(session_keyrings)
{
	pthread_t joins[NR_THREADS], adds[NR_THREADS];
	long before = ring_id(KEY_SPEC_SESSION_KEYRING);
	void *ring;

	if (before < 0)
		SKIP("keyrings are not allowed");
	threads_start(joins, NR_THREADS, join_session, NULL);
	threads_start(adds, NR_THREADS, add_to_session, NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		ring = thread_join(joins[i]);
		CHECK(ring != thread_join(adds[i]) && (long)ring != before);
	}
	CHECK_EQ(ring_id(KEY_SPEC_SESSION_KEYRING), before);
}

static void *set_default(void *arg)
{
	long to = (intptr_t)arg % KEY_REQKEY_DEFL_USER_SESSION_KEYRING;

	CHECK_EQ(keyctl(KEYCTL_SET_REQKEY_KEYRING, KEY_REQKEY_DEFL_NO_CHANGE, 0,
			0, 0),
		 KEY_REQKEY_DEFL_DEFAULT);
	CHECK(keyctl(KEYCTL_SET_REQKEY_KEYRING, to, 0, 0, 0) >= 0);
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		CHECK_EQ(keyctl(KEYCTL_SET_REQKEY_KEYRING,
				KEY_REQKEY_DEFL_NO_CHANGE, 0, 0, 0),
			 to);
	}
	return arg;
}

TEST(default_keyring_of_requests)
{
	pthread_t threads[NR_THREADS];

	need_keys();
	threads_start_numbered(threads, NR_THREADS, set_default);
	threads_join(threads, NR_THREADS);
	set_default(NULL);
}

/*
 * A fork child has neither its parent's thread keyring nor its process keyring.
 */
TEST(keyrings_of_a_child)
{
	int status;
	pid_t pid;

	need_keys();
	have_threads();
	CHECK(add_key("parent", "x", KEY_SPEC_THREAD_KEYRING) > 0);
	CHECK(add_key("parent", "x", KEY_SPEC_PROCESS_KEYRING) > 0);
	pid = fork();
	if (pid == 0) {
		CHECK_ERRNO(ring_id(KEY_SPEC_THREAD_KEYRING), ENOKEY);
		CHECK_ERRNO(ring_id(KEY_SPEC_PROCESS_KEYRING), ENOKEY);
		begin_without_keys("child");
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	thread_join(thread_start(has_no_key, "parent"));
}
