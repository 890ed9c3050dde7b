/* SPDX-License-Identifier: MIT */
/*
 * The layout of the runtime's data, for readers outside the process: `weft
 * ps`, `weft threads`, debuggers. libweft.so exports it as one symbol, as
 * CPython does with _Py_DebugOffsets:
 *
 *     readelf --dyn-syms libweft.so.0 | grep weft_layout
 *
 * A reader takes the symbol's address in the process, reads the head, then all
 * items. It finds an item by its name, and needs no header of weft's and no
 * debug data. An item that a version lacks is data that this version does not
 * have. So a reader works with each library that has the same form.
 *
 * The object is constant. It has addresses, which the loader relocates: so it
 * lies in pages that a core file has, too.
 */
#ifndef WEFT_SEE_LAYOUT_H
#define WEFT_SEE_LAYOUT_H

#include <stdint.h>

/*
 * The number of this form of the layout. It changes only if the structures
 * below do, not if items come or go.
 */
#define WF_LAYOUT_FORM 1
#define WF_LAYOUT_MAGIC                                 \
	{                                               \
		'W', 'e', 'f', 't', 'S', 'e', 'e', '\n' \
	}
#define WF_LAYOUT_SYMBOL "weft_layout"

enum wf_layout_what {
	WF_LAYOUT_ADDRESS = 1, /* `address` of a variable of `bytes` bytes, or
				* of an instruction */
	/* `value`: distance of two elements in an array */
	WF_LAYOUT_STRUCT,
	WF_LAYOUT_FIELD, /* `value`: offset in the struct; its size is
				* `bytes` */
	/* `name` is the word for the value `value` of enum `of` */
	WF_LAYOUT_ENUM,
	WF_LAYOUT_NUMBER, /* `value` is the number itself */
};

struct wf_layout_item {
	char name[32]; /* for example "thread.tid" */
	/*
	 * The meaning of a field: the name of an enum, or one of "pointer",
	 * "tid", "index", "count", "text", "flag", "signals", "ns", "word".
	 */
	char of[16];
	uint32_t what; /* enum wf_layout_what */
	uint32_t bytes;
	union {
		uint64_t value;
		const volatile void *address;
	};
};

struct wf_layout_head {
	char magic[8];	  /* WF_LAYOUT_MAGIC */
	uint32_t form;	  /* WF_LAYOUT_FORM */
	uint32_t bytes;	  /* of this structure */
	char version[16]; /* of the library */
	char cpu[16];	  /* as uname -m has it */
	const struct wf_layout_item *items;
	uint32_t nr_items;
	uint32_t item_bytes;
};

/* The exported symbol. */
extern const struct wf_layout_head weft_layout;

#endif
