/* SPDX-License-Identifier: MIT */
/* What an ELF file says about itself. */
#ifndef WEFT_CLI_ELF_H
#define WEFT_CLI_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum wf_elf_kind {
	WF_ELF_NONE = 0, /* no ELF file */
	WF_ELF_BROKEN,	 /* truncated or of no known form */
	WF_ELF_32BIT,
	WF_ELF_OTHER_CPU,
	WF_ELF_LIBRARY, /* shared, and not a program at the same time */
	WF_ELF_OTHER,	/* an object file, a core dump */
	WF_ELF_NATIVE,
};

struct wf_elf {
	enum wf_elf_kind kind;
	/* Of WF_ELF_NATIVE only: */
	bool is_go;
	char loader[PATH_MAX];	      /* "" if it is linked statically */
	char sanitizer[NAME_MAX + 1]; /* the sanitizer runtime it is linked
				       * with, or "" */
	char weft_version[16];	      /* of weft's own files, or "" */
};

/* Looks at a file's bytes; believes nothing that lies outside of them. */
void wf_elf_read(const void *bytes, size_t size, struct wf_elf *ret_elf);

/* Calls visit for each name that the file takes from its libraries; for none
 * if it has no section headers. */
void wf_elf_imports(const void *bytes, size_t size,
		    void (*visit)(const char *name, void *arg), void *arg);

/* The same for its RUNPATH and RPATH, each a list of folders with colons. */
void wf_elf_runpaths(const void *bytes, size_t size,
		     void (*visit)(const char *folders, void *arg), void *arg);

#endif
