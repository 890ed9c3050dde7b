/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
	struct entry *next;
	uint64_t hash;
	uint8_t key_size;
	uint16_t value_size;
	char data[]; /* key, value */
};

struct kv_store {
	struct entry **bucket;
	size_t nr_buckets; /* a power of two */
	size_t nr_entries;
};

enum { BUCKETS_AT_FIRST = 1024 };

struct kv_store *kv_store_new(void)
{
	struct kv_store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->nr_buckets = BUCKETS_AT_FIRST;
	s->bucket = calloc(s->nr_buckets, sizeof(struct entry *));
	if (s->bucket == NULL) {
		free(s);
		return NULL;
	}
	return s;
}

/* FNV-1a */
static uint64_t hash_of(const char *key, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3;
	return hash;
}

/*
 * The pointer to the entry of the request's key, or the NULL pointer at the end
 * of its chain.
 */
static struct entry **find(struct kv_store *s, const struct kv_request *r,
			   uint64_t hash)
{
	struct entry **at = &s->bucket[hash & (s->nr_buckets - 1)];

	for (; *at != NULL; at = &(*at)->next) {
		struct entry *e = *at;

		if (e->hash == hash && e->key_size == r->key_size &&
		    memcmp(e->data, r->data, r->key_size) == 0)
			break;
	}
	return at;
}

/* If there is no memory for more buckets, the chains grow. */
static void grow(struct kv_store *s)
{
	size_t nr = s->nr_buckets * 2;
	struct entry **bucket = calloc(nr, sizeof(*bucket));

	if (bucket == NULL)
		return;
	for (size_t i = 0; i < s->nr_buckets; i++) {
		struct entry *next;

		for (struct entry *e = s->bucket[i]; e != NULL; e = next) {
			next = e->next;
			e->next = bucket[e->hash & (nr - 1)];
			bucket[e->hash & (nr - 1)] = e;
		}
	}
	free(s->bucket);
	s->bucket = bucket;
	s->nr_buckets = nr;
}

static void get(struct kv_store *s, const struct kv_request *r,
		struct kv_reply *reply)
{
	struct entry *e = *find(s, r, hash_of(r->data, r->key_size));

	if (e == NULL) {
		reply->error = ENOENT;
		return;
	}
	reply->size = e->value_size;
	memcpy(reply->data, e->data + e->key_size, e->value_size);
}

static void remove_key(struct kv_store *s, const struct kv_request *r,
		       struct kv_reply *reply)
{
	struct entry **at = find(s, r, hash_of(r->data, r->key_size));
	struct entry *e = *at;

	if (e == NULL) {
		reply->error = ENOENT;
		return;
	}
	*at = e->next;
	free(e);
	s->nr_entries--;
}

static void set(struct kv_store *s, const struct kv_request *r,
		struct kv_reply *reply)
{
	uint64_t hash = hash_of(r->data, r->key_size);
	struct entry **at = find(s, r, hash);
	struct entry *old = *at, *e = old;

	if (old == NULL || old->value_size != r->value_size) {
		e = malloc(sizeof(*e) + r->key_size + r->value_size);
		if (e == NULL) {
			reply->error = ENOMEM;
			return;
		}
		e->next = old != NULL ? old->next : NULL;
		e->hash = hash;
		e->key_size = r->key_size;
		e->value_size = r->value_size;
		*at = e;
		free(old);
		s->nr_entries += old == NULL;
	}
	memcpy(e->data, r->data, (size_t)r->key_size + r->value_size);
	if (s->nr_entries > s->nr_buckets)
		grow(s);
}

void kv_store_answer(struct kv_store *s, const struct kv_request *request,
		     struct kv_reply *ret_reply)
{
	ret_reply->error = 0;
	ret_reply->size = 0;
	switch (request->op) {
	case KV_GET:
		get(s, request, ret_reply);
		break;
	case KV_SET:
		set(s, request, ret_reply);
		break;
	default:
		remove_key(s, request, ret_reply);
	}
}
