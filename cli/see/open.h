/* SPDX-License-Identifier: MIT */
/*
 * An opened process or core file, for the files of this folder.
 *
 *     value = wf_see_peek(see->source, address, &see->items.carrier_tid);
 */
#ifndef WEFT_CLI_SEE_OPEN_H
#define WEFT_CLI_SEE_OPEN_H

#include "items.h"
#include "source.h"

struct wf_see {
	struct wf_see_source *source;
	struct wf_see_items items;
};

#endif
