/* SPDX-License-Identifier: MIT */
/* Which threads are bound from birth. */
#ifndef WEFT_THREAD_SCOPE_H
#define WEFT_THREAD_SCOPE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/options.h"

/*
 * --bound: is the pattern in the name of the object that holds `start`? In its
 * path, if the pattern has a slash. Takes the loader's lock; in_runtime 0.
 */
bool wf_scope_matches_slow(const void *start);

/*
 * A debugger has started the process. It knows kernel threads only: what goes
 * on on another one is another thread to it. So all threads are bound, unless
 * --bound says which; but no more than a debugger bears.
 */
extern bool wf_scope_is_debugged;
bool wf_scope_has_room(void);

/* The runtime starts: looks who traces the process. in_runtime 0 or 1. */
void wf_scope_start(void);

static inline bool wf_scope_matches(const void *start)
{
	if (WF_UNLIKELY(wf_options.bound[0] != '\0'))
		return wf_scope_matches_slow(start);
	return WF_UNLIKELY(wf_scope_is_debugged) && wf_scope_has_room();
}

#endif
