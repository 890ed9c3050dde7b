/* SPDX-License-Identifier: MIT */
/*
 * The cache is a table of hashes of names. The hash of a name determines its
 * only slot. A later name takes the slot over. The lowest two bits of a slot
 * are the state.
 *
 * A lookup hashes the path once and checks the slot at the end of each
 * component. So the longest known prefix decides. A file system that is mounted
 * below a known name is treated as that name until it has an entry.
 *
 * Rejected: to ask the kernel which file system a path leads to. Each open
 * would cost two calls. Rejected: a state for each file system. To find the
 * file system of a path is the same question to the kernel.
 */
#include "io/file/path_latency.h"

enum { NR_BITS = 8, STATE_MASK = 3 };

static _Atomic uint64_t known[1 << NR_BITS];
_Atomic uint32_t wf_path_latency_nr;

/* FNV-1a */
static uint64_t begin(int dirfd, const char *path)
{
	const uint64_t basis = 0xcbf29ce484222325, odd = 0x9e3779b97f4a7c15;

	return path[0] == '/' ? basis : basis ^ (uint64_t)(int64_t)dirfd * odd;
}

static uint64_t add(uint64_t hash, char c)
{
	return (hash ^ (unsigned char)c) * 0x100000001b3;
}

static uint64_t key_of(uint64_t hash)
{
	return hash & ~(uint64_t)STATE_MASK;
}

static _Atomic uint64_t *slot_of(uint64_t key)
{
	/* For short names the highest bits of the hash hardly depend on the
	 * name. So the slot is taken from both halves of the key. */
	return &known[(key ^ key >> 32) >> 2 & ((1 << NR_BITS) - 1)];
}

bool wf_path_latency_is_end(const char *path, size_t i)
{
	return path[i] == '\0' ||
	       (path[i] == '/' && (i == 0 || path[i - 1] != '/'));
}

uint64_t wf_path_latency_key(int dirfd, const char *path, size_t len)
{
	uint64_t hash = begin(dirfd, path);

	for (size_t i = 0; i < len; i++)
		hash = add(hash, path[i]);
	return key_of(hash);
}

struct wf_path_latency wf_path_latency_find_slow(int dirfd, const char *path)
{
	struct wf_path_latency found = { 0, WF_PATH_UNKNOWN };
	uint64_t hash = begin(dirfd, path);

	for (size_t i = 0;; i++) {
		if (i == 0 || wf_path_latency_is_end(path, i)) {
			uint64_t key = key_of(hash);
			uint64_t word = wf_load_relaxed(slot_of(key));

			if (word != 0 && key_of(word) == key)
				found = (struct wf_path_latency){
					key, word & STATE_MASK
				};
		}
		if (path[i] == '\0')
			return found;
		hash = add(hash, path[i]);
	}
}

void wf_path_latency_set(uint64_t key, enum wf_path_latency_state state)
{
	uint64_t word = state == WF_PATH_UNKNOWN ? 0 : key | state;
	uint64_t old = atomic_exchange(slot_of(key), word);

	if (old == 0 && word != 0)
		atomic_fetch_add(&wf_path_latency_nr, 1);
	else if (old != 0 && word == 0)
		atomic_fetch_sub(&wf_path_latency_nr, 1);
}

void wf_path_latency_took(const struct wf_path_latency *p, bool is_long)
{
	if (p->state == WF_PATH_MAYBE_SLOW)
		wf_path_latency_set(p->key,
				    is_long ? WF_PATH_SLOW : WF_PATH_UNKNOWN);
	else if (p->state == WF_PATH_SLOW && !is_long)
		wf_path_latency_set(p->key, WF_PATH_MAYBE_SLOW);
}
