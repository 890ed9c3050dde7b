/*
 * Hashes of names, each at the one place in a table that its hash says; who
 * comes later takes it over. Their lowest bits are the state.
 *
 * What is mounted below a name is taken for the same as long as nothing is
 * known of it.
 *
 * Rejected: to ask the kernel whose file system a path leads to. Each open
 * would cost two calls. One state for each file system: nobody knows the one
 * of a path but by asking.
 */
#include "io/place.h"

enum { NR_BITS = 8, STATE_MASK = 3 };

static _Atomic uint64_t known[1 << NR_BITS];
_Atomic uint32_t wf_place_nr;

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
	/* The hash of a short name lacks some of its highest bits. */
	return &known[(key ^ key >> 32) >> 2 & ((1 << NR_BITS) - 1)];
}

bool wf_place_is_end(const char *path, size_t i)
{
	return path[i] == '\0' ||
	       (path[i] == '/' && (i == 0 || path[i - 1] != '/'));
}

uint64_t wf_place_key(int dirfd, const char *path, size_t len)
{
	uint64_t hash = begin(dirfd, path);

	for (size_t i = 0; i < len; i++)
		hash = add(hash, path[i]);
	return key_of(hash);
}

struct wf_place wf_place_find_slow(int dirfd, const char *path)
{
	struct wf_place found = { 0, WF_PLACE_UNKNOWN };
	uint64_t hash = begin(dirfd, path);

	for (size_t i = 0;; i++) {
		if (i == 0 || wf_place_is_end(path, i)) {
			uint64_t key = key_of(hash);
			uint64_t word = wf_load_relaxed(slot_of(key));

			if (word != 0 && key_of(word) == key)
				found = (struct wf_place){ key,
							   word & STATE_MASK };
		}
		if (path[i] == '\0')
			return found;
		hash = add(hash, path[i]);
	}
}

void wf_place_set(uint64_t key, enum wf_place_state state)
{
	uint64_t word = state == WF_PLACE_UNKNOWN ? 0 : key | state;
	uint64_t old = atomic_exchange(slot_of(key), word);

	if (old == 0 && word != 0)
		atomic_fetch_add(&wf_place_nr, 1);
	else if (old != 0 && word == 0)
		atomic_fetch_sub(&wf_place_nr, 1);
}

void wf_place_took(const struct wf_place *p, bool is_long)
{
	if (p->state == WF_PLACE_SUSPECT)
		wf_place_set(p->key,
			     is_long ? WF_PLACE_SLOW : WF_PLACE_UNKNOWN);
	else if (p->state == WF_PLACE_SLOW && !is_long)
		wf_place_set(p->key, WF_PLACE_SUSPECT);
}
