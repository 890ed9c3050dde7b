/* SPDX-License-Identifier: MIT */
/*
 * The client's side of the key-value server.
 *
 *     struct kv *kv;
 *     char value[100];
 *     size_t size;
 *
 *     kv_open("channel:/run/kv", &kv);
 *     kv_set(kv, "key", 3, "value", 5);
 *     kv_get(kv, "key", 3, value, sizeof(value), &size);
 *     kv_close(kv);
 *
 * Functions return 0 or a number of errno.h. A connection is for one thread at
 * a time.
 */
#ifndef KV_H
#define KV_H

#include <stddef.h>

#define KV_KEY_MAX 255
#define KV_VALUE_MAX 3072

struct kv;

/*
 * "channel:PATH", "unix:PATH" or "tcp:PORT" of this machine. EINVAL if it is
 * none of these, EBUSY if the server has no room for another client, else the
 * error of connecting.
 */
int kv_open(const char *address, struct kv **ret_kv);
void kv_close(struct kv *kv);

/* ENOENT: there is no such key. EMSGSIZE: the value is larger than capacity. */
int kv_get(struct kv *kv, const void *key, size_t key_size, void *value,
	   size_t capacity, size_t *ret_size);
/* EMSGSIZE: key or value are too large. ENOMEM: the server has no room. */
int kv_set(struct kv *kv, const void *key, size_t key_size, const void *value,
	   size_t size);
/* ENOENT: there is no such key. */
int kv_delete(struct kv *kv, const void *key, size_t key_size);

#endif
