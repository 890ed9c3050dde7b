/* SPDX-License-Identifier: MIT */
/*
 * The load generator: clients that each send one request after the other.
 *
 *     usage: kv_load ADDRESS [CLIENTS [SECONDS [VALUE_BYTES [READS_PERCENT]]]]
 *
 * Prints requests per second and the latency's median and 99th percentile. Each
 * client is a thread with a connection of its own. The generator compares every
 * value that it reads with the value of its key.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kv.h"

enum { KEYS = 1000, CLIENTS_MAX = 1000 };
/* Latencies are counted in steps of 1/8 of a power of two of nanoseconds. */
enum { BUCKETS = 64 * 8 };

struct client {
	pthread_t thread;
	struct kv *kv;
	uint64_t random;
	long nr_requests;
	uint32_t bucket[BUCKETS];
};

static struct client *clients;
static long value_bytes = 32, reads = 90;
static _Atomic int must_end;
static pthread_barrier_t barrier;

static void require(int rc, const char *what)
{
	if (rc != 0) {
		fprintf(stderr, "kv_load: %s: %s\n", what, strerror(rc));
		exit(1);
	}
}

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int bucket_of(uint64_t ns)
{
	int log = 63 - __builtin_clzll(ns | 8);

	return log * 8 + (int)(ns >> (log - 3) & 7);
}

static double ns_of(int bucket)
{
	return (double)(8 + bucket % 8) * (double)(1ULL << (bucket / 8)) / 8;
}

static void make_value(char *value, unsigned int key)
{
	for (long i = 0; i < value_bytes; i++)
		value[i] = (char)(key + (unsigned int)i);
}

static void set(struct kv *kv, unsigned int key)
{
	char name[32], value[KV_VALUE_MAX];
	int size = snprintf(name, sizeof(name), "key %u", key);

	make_value(value, key);
	require(kv_set(kv, name, (size_t)size, value, (size_t)value_bytes),
		"set");
}

static void get(struct kv *kv, unsigned int key)
{
	char name[32], value[KV_VALUE_MAX], wanted[KV_VALUE_MAX];
	int name_size = snprintf(name, sizeof(name), "key %u", key);
	size_t size;

	require(kv_get(kv, name, (size_t)name_size, value, sizeof(value),
		       &size),
		"get");
	make_value(wanted, key);
	if (size != (size_t)value_bytes || memcmp(value, wanted, size) != 0) {
		fprintf(stderr, "kv_load: a wrong value of %s\n", name);
		exit(1);
	}
}

static unsigned int below(struct client *c, unsigned int n)
{
	c->random = c->random * 6364136223846793005 + 1442695040888963407;
	return (unsigned int)(c->random >> 33) % n;
}

static void *run(void *arg)
{
	struct client *c = arg;
	int64_t start = now_ns();

	pthread_barrier_wait(&barrier);
	while (!must_end) {
		unsigned int key = below(c, KEYS);
		int64_t end;

		if (below(c, 100) < (unsigned int)reads)
			get(c->kv, key);
		else
			set(c->kv, key);
		end = now_ns();
		if (c->nr_requests++ > 0)
			c->bucket[bucket_of((uint64_t)(end - start))]++;
		start = end;
	}
	return NULL;
}

/* The latency that the given part of all requests does not exceed. */
static double quantile(long nr_clients, double part)
{
	uint64_t sum = 0, all = 0;
	int bucket;

	for (bucket = 0; bucket < BUCKETS; bucket++) {
		for (long i = 0; i < nr_clients; i++)
			all += clients[i].bucket[bucket];
	}
	for (bucket = 0; bucket < BUCKETS - 1; bucket++) {
		for (long i = 0; i < nr_clients; i++)
			sum += clients[i].bucket[bucket];
		if ((double)sum >= part * (double)all)
			break;
	}
	return ns_of(bucket);
}

static void report(long nr_clients, double seconds)
{
	long nr = 0;

	for (long i = 0; i < nr_clients; i++)
		nr += clients[i].nr_requests;
	printf("requests_per_s %.0f\n", (double)nr / seconds);
	printf("median_us %.2f\n", quantile(nr_clients, 0.5) / 1e3);
	printf("p99_us %.2f\n", quantile(nr_clients, 0.99) / 1e3);
}

int main(int argc, char **argv)
{
	long nr_clients = argc > 2 ? atol(argv[2]) : 1;
	double seconds = argc > 3 ? atof(argv[3]) : 1;
	struct timespec nap;
	int64_t start;

	value_bytes = argc > 4 ? atol(argv[4]) : value_bytes;
	reads = argc > 5 ? atol(argv[5]) : reads;
	if (argc < 2 || nr_clients < 1 || nr_clients > CLIENTS_MAX ||
	    value_bytes < 0 || value_bytes > KV_VALUE_MAX) {
		fputs("usage: kv_load ADDRESS [CLIENTS [SECONDS [VALUE_BYTES "
		      "[READS_PERCENT]]]]\n",
		      stderr);
		return 2;
	}
	clients = calloc((size_t)nr_clients, sizeof(*clients));
	pthread_barrier_init(&barrier, NULL, (unsigned int)nr_clients + 1);
	for (long i = 0; i < nr_clients; i++) {
		clients[i].random = (uint64_t)i;
		require(kv_open(argv[1], &clients[i].kv), argv[1]);
	}
	for (unsigned int key = 0; key < KEYS; key++)
		set(clients[0].kv, key);
	for (long i = 0; i < nr_clients; i++)
		require(pthread_create(&clients[i].thread, NULL, run,
				       &clients[i]),
			"pthread_create");
	pthread_barrier_wait(&barrier);
	start = now_ns();
	nap.tv_sec = (time_t)seconds;
	nap.tv_nsec = (long)((seconds - (double)nap.tv_sec) * 1e9);
	nanosleep(&nap, NULL);
	must_end = 1;
	for (long i = 0; i < nr_clients; i++) {
		pthread_join(clients[i].thread, NULL);
		kv_close(clients[i].kv);
	}
	report(nr_clients, (double)(now_ns() - start) / 1e9);
	return 0;
}
