/* SPDX-License-Identifier: MIT */
/*
 * Decides which threads are bound from birth: those that --bound names, and
 * most threads under a debugger.
 *
 *     params.is_bound = wf_scope_matches(start);
 */
#ifndef WEFT_THREAD_SCOPE_H
#define WEFT_THREAD_SCOPE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/options.h"

/*
 * True if --bound names `start`: its pattern is in the name of the object that
 * holds `start`. A pattern with a slash is compared with the path. Takes the
 * loader's lock; the caller has in_runtime 0.
 */
bool wf_scope_matches_slow(const void *start);

/*
 * True if a debugger has started the process. A debugger knows only kernel
 * threads, and takes a thread that changes its kernel thread for several. So
 * all threads are bound, unless --bound names some. wf_scope_has_room limits
 * their number to what a debugger can manage.
 */
extern bool wf_scope_is_debugged;
bool wf_scope_has_room(void);

/*
 * Called when the runtime starts: checks whether a debugger traces the process.
 * Any value of in_runtime.
 */
void wf_scope_start(void);

static inline bool wf_scope_matches(const void *start)
{
	if (WF_UNLIKELY(wf_options.bound[0] != '\0'))
		return wf_scope_matches_slow(start);
	return WF_UNLIKELY(wf_scope_is_debugged) && wf_scope_has_room();
}

#endif
