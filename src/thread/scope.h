/* Which threads are bound from birth. */
#ifndef WEFT_THREAD_SCOPE_H
#define WEFT_THREAD_SCOPE_H

#include <stdbool.h>

/* --bound: does the name of the object that holds `start` match? */
bool wf_scope_matches(const void *start);

#endif
