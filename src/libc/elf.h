/* SPDX-License-Identifier: MIT */
/*
 * Symbols of the loaded libc and ld.so, looked up in their ELF tables.
 *
 * dlsym takes the loader's lock and may call malloc, which may be a library
 * whose first allocation brought us here. This takes nothing: it walks the
 * loader's public list of objects and the GNU hash tables in memory.
 */
#ifndef WEFT_LIBC_ELF_H
#define WEFT_LIBC_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a lookup needs of an object's dynamic section. */
struct wf_elf_object {
	const uint32_t *gnu_hash;
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Half) *versions;
	ElfW(Addr) base;
	ElfW(Xword) soname; /* in strings; 0, which is "", if there is none */
};

/* The loaded object whose file name begins with `name`. */
bool wf_elf_find(const char *name, struct wf_elf_object *ret_object);
/* Address of the default version of `name`, or NULL. IFUNCs are resolved. */
void *wf_elf_lookup(const struct wf_elf_object *o, const char *name);
/* Both: for a name or two ("libc.so", "ld-linux"). */
void *wf_elf_symbol(const char *object, const char *name);

/* Does the program, not a library of its, refer to another object's `name`? */
bool wf_elf_program_imports(const char *name);

/* Is the program built with ThreadSanitizer? */
bool wf_elf_has_thread_sanitizer(void);

#endif
