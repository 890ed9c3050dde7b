/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow at each power of two.
 *
 *     void *more = wf_see_grow(a->items, a->nr, sizeof(*a->items));
 *
 *     if (more == NULL)
 *             return -ENOMEM;
 *     a->items = more;
 *     a->items[a->nr++] = item;
 */
#ifndef WEFT_CLI_SEE_GROW_H
#define WEFT_CLI_SEE_GROW_H

#include <stdlib.h>

/*
 * Returns the array of nr items with room for one more, perhaps at another
 * place. NULL: there is no memory, and the array stays as it is.
 */
static inline void *wf_see_grow(void *items, size_t nr, size_t item_bytes)
{
	if ((nr & (nr - 1)) != 0)
		return items;
	return realloc(items, (nr == 0 ? 1 : 2 * nr) * item_bytes);
}

#endif
