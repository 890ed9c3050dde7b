#include "thread/scope.h"

#include <link.h>
#include <string.h>

#include "base/options.h"

/*
 * A bit of the attribute's flags that no libc uses; libc's functions keep
 * bits that they do not know.
 */
enum { FLAG_BOUND = 0x40000000 };

struct public_part {
	int priority, policy, flags;
};

void wf_scope_mark_system(pthread_attr_t *attr)
{
	((struct public_part *)(void *)attr)->flags |= FLAG_BOUND;
}

bool wf_scope_is_system(const pthread_attr_t *attr)
{
	const struct public_part *p = (const void *)attr;

	return (p->flags & FLAG_BOUND) != 0;
}

bool wf_scope_matches(const void *start)
{
	const struct link_map *map;
	const struct link_map *best = NULL;

	if (wf_options.bound[0] == '\0')
		return false;
	/* The object with the highest base at or below the address. */
	for (map = _r_debug.r_map; map != NULL; map = map->l_next) {
		if (map->l_addr <= (uintptr_t)start &&
		    (best == NULL || map->l_addr > best->l_addr))
			best = map;
	}
	return best != NULL && strstr(best->l_name, wf_options.bound) != NULL;
}
