/* SPDX-License-Identifier: MIT */
/* The store: a hash table in memory, for one thread at a time. */
#ifndef KV_STORE_H
#define KV_STORE_H

#include "protocol.h"

struct kv_store;

struct kv_store *kv_store_new(void);

/* Carries out a complete request and fills the reply. */
void kv_store_answer(struct kv_store *s, const struct kv_request *request,
		     struct kv_reply *ret_reply);

#endif
