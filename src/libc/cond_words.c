/* SPDX-License-Identifier: MIT */
/*
 * Finds out which of two protocols libc's process-shared condition variables
 * follow, since weft's threads and libc's may wait for the same one. The
 * version number does not decide it, since distributions move fixes between
 * versions. So this file makes an object with counts of waiters that do not
 * exist. It calls libc's signal and broadcast, and compares the words with
 * those of each protocol. Before that it finds the flags' word by libc's
 * pthread_cond_init. With counts in the wrong words, libc could take its
 * internal lock for held, and wait for ever.
 */
#include "libc/cond_words.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "libc/real.h"

enum protocol {
	WITH_REFS, /* glibc 2.25 to 2.40 */
	BY_START,  /* glibc 2.41 */
	NR_PROTOCOLS,
	OTHER = NR_PROTOCOLS,
	UNKNOWN,
};

struct refs {
	_Atomic uint32_t refs[2];
	struct wf_cond_groups groups;
};

union object {
	pthread_cond_t libc;
	uint32_t words[sizeof(pthread_cond_t) / sizeof(uint32_t)];
	struct {
		_Atomic uint64_t next, start;
		union {
			struct refs with;
			struct wf_cond_groups without;
		};
	};
};

enum { NR_WORDS = sizeof(pthread_cond_t) / sizeof(uint32_t) };

#define FLAGS_AT(member) (offsetof(union object, member.users) / 4)
_Static_assert(sizeof(union object) == sizeof(pthread_cond_t) &&
		       FLAGS_AT(with.groups) == WF_COND_FLAGS_OLD &&
		       FLAGS_AT(without) == WF_COND_FLAGS_NEW,
	       "libc's object has these words");

static struct wf_cond_groups *groups_of(union object *o, enum protocol p)
{
	return p == WITH_REFS ? &o->with.groups : &o->without;
}

enum step { SIGNAL, BROADCAST };

/*
 * Each step: `joining` more threads wait, then libc's function is called. The
 * other fields are the words after it.
 */
static const struct {
	uint32_t joining;
	enum step step;
	uint64_t next, start[NR_PROTOCOLS];
	uint32_t size[2], lock, signals[NR_PROTOCOLS][2];
} script[] = {
	{ 3, SIGNAL, 7, { 1, 0 }, { 2, 0 }, 12, { { 2, 0 }, { 1, 0 } } },
	{ 2, SIGNAL, 11, { 1, 0 }, { 1, 0 }, 12, { { 4, 0 }, { 2, 0 } } },
	{ 0, BROADCAST, 10, { 6, 3 }, { 0, 0 }, 8, { { 0, 4 }, { 3, 5 } } },
	{ 1, SIGNAL, 13, { 11, 5 }, { 0, 0 }, 4, { { 2, 0 }, { 6, 5 } } },
	{ 1, BROADCAST, 14, { 12, 6 }, { 0, 0 }, 4, { { 0, 2 }, { 6, 7 } } },
};

enum { NR_STEPS = sizeof(script) / sizeof(script[0]) };

static bool follow_script(enum protocol p)
{
	union object o, after;
	struct wf_cond_groups *g = groups_of(&o, p);

	memset(&o, 0, sizeof(o));
	memset(&after, 0, sizeof(after));
	g->users = WF_COND_SHARED;
	for (int i = 0; i < NR_STEPS; i++) {
		struct wf_cond_groups wanted = {
			.size = { script[i].size[0], script[i].size[1] },
			.lock = script[i].lock,
			.users =
				g->users + script[i].joining * WF_COND_ONE_USER,
			.signals = { script[i].signals[p][0],
				     script[i].signals[p][1] },
		};

		o.next += script[i].joining * WF_COND_ONE_PLACE;
		g->users = wanted.users;
		if (script[i].step == SIGNAL)
			wf_real.pthread_cond_signal(&o.libc);
		else
			wf_real.pthread_cond_broadcast(&o.libc);
		after.next = script[i].next;
		after.start = script[i].start[p];
		*groups_of(&after, p) = wanted;
		if (memcmp(&o, &after, sizeof(o)) != 0)
			return false;
	}
	return true;
}

/* Returns the index of the word with the flags in a new object, or -1. */
static int find_flags(void)
{
	union object o;
	pthread_condattr_t attr;
	int at = -1;

	memset(&o, 0, sizeof(o));
	pthread_condattr_init(&attr);
	pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (wf_real.pthread_cond_init(&o.libc, &attr) != 0)
		return -1;
	for (int i = 0; i < NR_WORDS; i++) {
		if (o.words[i] == 0)
			continue;
		if (at >= 0 || o.words[i] != WF_COND_SHARED)
			return -1;
		at = i;
	}
	return at;
}

static int flags_at(void)
{
	enum { UNKNOWN_YET = -2 };
	static _Atomic int found = UNKNOWN_YET;
	int at = wf_load_relaxed(&found);

	if (WF_UNLIKELY(at == UNKNOWN_YET)) {
		at = find_flags();
		wf_store_relaxed(&found, at);
	}
	return at;
}

static enum protocol find_protocol(void)
{
	int flags = flags_at();

	if (flags == WF_COND_FLAGS_OLD && follow_script(WITH_REFS))
		return WITH_REFS;
	if (flags == WF_COND_FLAGS_NEW && follow_script(BY_START))
		return BY_START;
	return OTHER;
}

static enum protocol protocol(void)
{
	static _Atomic int found = UNKNOWN;
	int p = wf_load_relaxed(&found);

	if (WF_UNLIKELY(p == UNKNOWN)) {
		p = (int)find_protocol();
		wf_store_relaxed(&found, p);
	}
	return (enum protocol)p;
}

bool wf_cond_words_are_known(void)
{
	return protocol() != OTHER;
}

struct wf_cond_words wf_cond_words_of(pthread_cond_t *cond)
{
	union object *o = (union object *)cond;
	enum protocol p = protocol();

	return (struct wf_cond_words){
		.next = &o->next,
		.start = &o->start,
		.refs = p == WITH_REFS ? o->with.refs : NULL,
		.groups = groups_of(o, p),
	};
}

clockid_t wf_cond_words_clock(const pthread_cond_t *cond)
{
	const union object *o = (const union object *)cond;
	int at = flags_at();

	return at >= 0 && (o->words[at] & WF_COND_MONOTONIC) != 0 ?
		       CLOCK_MONOTONIC :
		       CLOCK_REALTIME;
}
