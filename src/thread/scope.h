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
static inline bool wf_scope_matches(const void *start)
{
	return WF_UNLIKELY(wf_options.bound[0] != '\0') &&
	       wf_scope_matches_slow(start);
}

#endif
