#include "thread/scope.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/options.h"

bool wf_scope_matches(const void *start)
{
	const struct link_map *map;
	const struct link_map *best = NULL;
	const char *name;

	if (wf_options.bound[0] == '\0')
		return false;
	/* The object with the highest base at or below the address. */
	for (map = _r_debug.r_map; map != NULL; map = map->l_next) {
		if (map->l_addr <= (uintptr_t)start &&
		    (best == NULL || map->l_addr > best->l_addr))
			best = map;
	}
	if (best == NULL)
		return false;
	/* The program itself has no name in the loader's list. */
	name = best->l_name[0] != '\0' ? best->l_name : program_invocation_name;
	return strstr(name, wf_options.bound) != NULL;
}
