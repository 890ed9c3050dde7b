/* SPDX-License-Identifier: MIT */
/*
 * examples/kv: each transport gives the same answers; either side may be
 * killed. KV_SERVER is the server's path.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "kv.h"
#include "threading.h"

static char folder[] = "/tmp/weft-kv-XXXXXX";
static char address[100];
static pid_t server;

static void remove_all(void)
{
	char path[100];

	kill(server, SIGKILL);
	snprintf(path, sizeof(path), "%s/s", folder);
	unlink(path);
	rmdir(folder);
}

/* Starts the server at the same address and waits until it is ready. */
static void start_again(void)
{
	char ready[6] = { 0 };
	int out[2];

	CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
	server = fork();
	CHECK(server >= 0);
	if (server == 0) {
		dup2(out[1], 1);
		alarm(CHILD_LIMIT_S);
		execl(KV_SERVER, KV_SERVER, address, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	CHECK_EQ(read(out[0], ready, 6), 6);
	CHECK(memcmp(ready, "ready\n", 6) == 0);
	close(out[0]);
}

static void start(const char *kind)
{
	CHECK(mkdtemp(folder) != NULL);
	check_at_end(remove_all);
	if (strcmp(kind, "tcp") == 0)
		snprintf(address, sizeof(address), "tcp:%d",
			 20000 + (int)getpid() % 20000);
	else
		snprintf(address, sizeof(address), "%s:%s/s", kind, folder);
	start_again();
}

static struct kv *open_kv(void)
{
	struct kv *kv;

	CHECK_EQ(kv_open(address, &kv), 0);
	return kv;
}

static void expect(struct kv *kv, const char *key, const char *wanted)
{
	char value[KV_VALUE_MAX];
	size_t size;

	CHECK_EQ(kv_get(kv, key, strlen(key), value, sizeof(value), &size), 0);
	CHECK_EQ(size, strlen(wanted));
	CHECK(memcmp(value, wanted, size) == 0);
}

static void set(struct kv *kv, const char *key, const char *value)
{
	CHECK_EQ(kv_set(kv, key, strlen(key), value, strlen(value)), 0);
}

static void talk(const char *kind)
{
	static char large[KV_VALUE_MAX + 1], got[KV_VALUE_MAX];
	struct kv *kv, *other;
	size_t size;

	start(kind);
	kv = open_kv();
	other = open_kv();
	CHECK_EQ(kv_get(kv, "none", 4, got, sizeof(got), &size), ENOENT);
	set(kv, "a", "first");
	expect(other, "a", "first");
	set(other, "a", "second, and longer");
	expect(kv, "a", "second, and longer");
	set(kv, "", "");
	expect(kv, "", "");
	CHECK_EQ(kv_get(kv, "a", 1, got, 3, &size), EMSGSIZE);
	CHECK_EQ(kv_delete(kv, "a", 1), 0);
	CHECK_EQ(kv_delete(kv, "a", 1), ENOENT);
	memset(large, 'x', sizeof(large));
	CHECK_EQ(kv_set(kv, large, 255, large, KV_VALUE_MAX), 0);
	CHECK_EQ(kv_get(kv, large, 255, got, sizeof(got), &size), 0);
	CHECK_EQ(size, KV_VALUE_MAX);
	CHECK(memcmp(got, large, size) == 0);
	CHECK_EQ(kv_set(kv, large, 256, "v", 1), EMSGSIZE);
	CHECK_EQ(kv_set(kv, "v", 1, large, sizeof(large)), EMSGSIZE);
	/* More keys than the table's first size. */
	for (int i = 0; i < 3000; i++) {
		char key[16];

		CHECK_EQ(kv_set(kv, key, (size_t)sprintf(key, "%d", i), &i,
				sizeof(i)),
			 0);
	}
	CHECK_EQ(kv_get(other, "2999", 4, got, sizeof(got), &size), 0);
	CHECK_EQ(size, sizeof(int));
	kv_close(other);
	kv_close(kv);
}

TEST(over_channels)
{
	talk("channel");
}

TEST(over_unix_sockets)
{
	talk("unix");
}

TEST(over_tcp)
{
	talk("tcp");
}

static void *work(void *arg)
{
	struct kv *kv = open_kv();
	char key[32], value[32];

	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "%ld/%d", (long)(intptr_t)arg,
			 i % 7);
		snprintf(value, sizeof(value), "value %d", i);
		set(kv, key, value);
		expect(kv, key, value);
	}
	kv_close(kv);
	return NULL;
}

TEST(many_clients)
{
	pthread_t threads[20];

	start("channel");
	threads_start_numbered(threads, 20, work);
	threads_join(threads, 20);
}

static void use_until_killed(void)
{
	struct kv *kv = open_kv();

	for (;;)
		set(kv, "x", "y");
}

/* A killed client's end and place can be used again. */
TEST(clients_are_killed)
{
	struct kv *kv;

	start("channel");
	kv = open_kv();
	for (int i = 0; i < 80; i++) {
		pid_t child = child_start(use_until_killed);

		sleep_ms(2);
		set(kv, "still", "there");
		kill(child, SIGKILL);
		CHECK(WIFSIGNALED(child_wait(child)));
		expect(kv, "still", "there");
	}
	kv_close(kv);
}

TEST(the_server_is_killed)
{
	struct kv *kv;
	int rc;

	start("channel");
	kv = open_kv();
	set(kv, "x", "y");
	kill(server, SIGKILL);
	CHECK_EQ(waitpid(server, NULL, 0), server);
	while ((rc = kv_set(kv, "x", 1, "z", 1)) == 0)
		;
	CHECK_EQ(rc, EOWNERDEAD);
	kv_close(kv);
	/* On weft the sockets are closed a little after the process's end. */
	while ((rc = kv_open(address, &kv)) != ECONNREFUSED)
		CHECK(rc == EPROTO);
	/* The old socket's file remains and must not hinder the new server. */
	start_again();
	kv = open_kv();
	set(kv, "x", "y");
	kv_close(kv);
}

TEST(malformed_addresses)
{
	static const char *const addresses[] = {
		"channel", "tcp:", "tcp:0", "tcp:80x", "tcp:65536", "file:x",
	};
	struct kv *kv;

	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		CHECK_EQ(kv_open(addresses[i], &kv), EINVAL);
}
