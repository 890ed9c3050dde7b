/* SPDX-License-Identifier: MIT */
/*
 * Fills the table of libc's functions from libc's symbol table.
 */
#include "libc/real.h"

#include "libc/elf.h"

struct wf_real wf_real;

const char *wf_real_init(void)
{
	const struct {
		const char *name;
		void *ret;
	} rows[] = {
#define WF_REAL(ret, name, args) { #name, &wf_real.name },
#include "libc/real_names.h"
#undef WF_REAL
	};

	struct wf_elf_object libc;

	if (!wf_elf_find("libc.so", &libc))
		return "table of symbols";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *p = wf_elf_lookup(&libc, rows[i].name);

		if (p == NULL)
			return rows[i].name;
		*(void **)rows[i].ret = p;
	}
	return NULL;
}
