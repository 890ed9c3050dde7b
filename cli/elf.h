/* SPDX-License-Identifier: MIT */
/*
 * Reads the properties of an ELF file that matter to the command.
 *
 *     wf_elf_read(bytes, size, &elf);
 *     if (elf.kind == WF_ELF_NATIVE && elf.is_go)
 *             return wf_complain(WF_EXIT_WEFT, "%s: a Go program", path);
 */
#ifndef WEFT_CLI_ELF_H
#define WEFT_CLI_ELF_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum wf_elf_kind {
	WF_ELF_NONE = 0, /* no ELF file */
	WF_ELF_BROKEN,	 /* truncated or of unknown form */
	WF_ELF_32BIT,
	WF_ELF_OTHER_CPU,
	WF_ELF_LIBRARY, /* shared, and not a program at the same time */
	WF_ELF_OTHER,	/* an object file, a core dump */
	WF_ELF_NATIVE,
};

struct wf_elf {
	enum wf_elf_kind kind;
	/* The rest is set for WF_ELF_NATIVE only. */
	bool is_go;
	char loader[PATH_MAX]; /* "" if it is linked statically */
	/* The sanitizer runtime that the file is linked with, or "". */
	char sanitizer[NAME_MAX + 1];
	char weft_version[16]; /* of weft's own files, or "" */
};

/* Reads a file from its bytes. Checks every offset against the size. */
void wf_elf_read(const void *bytes, size_t size, struct wf_elf *ret_elf);

/* Calls visit for each name that the file imports from its libraries; for none
 * if it has no section headers. */
void wf_elf_imports(const void *bytes, size_t size,
		    void (*visit)(const char *name, void *arg), void *arg);

/*
 * Calls visit for its RUNPATH and its RPATH, each a list of folders with
 * colons.
 */
void wf_elf_runpaths(const void *bytes, size_t size,
		     void (*visit)(const char *folders, void *arg), void *arg);

#endif
