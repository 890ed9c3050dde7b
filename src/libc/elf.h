/* SPDX-License-Identifier: MIT */
/*
 * Looks up symbols of the loaded libc and ld.so in their ELF tables.
 *
 *     fn = wf_elf_symbol("libc.so", "malloc");
 *
 * dlsym takes the loader's lock and may call malloc. malloc may be that of a
 * library which has called weft from its first allocation. These functions take
 * no lock and call no malloc: they walk the loader's public list of objects and
 * the GNU hash tables in memory.
 */
#ifndef WEFT_LIBC_ELF_H
#define WEFT_LIBC_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of an object's dynamic section that a lookup needs. */
struct wf_elf_object {
	const uint32_t *gnu_hash;
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Half) *versions;
	ElfW(Addr) base;
	ElfW(Xword) soname; /* in strings; 0, which is "", if absent */
};

/* Finds the loaded object with a file name that begins with `name`. */
bool wf_elf_find(const char *name, struct wf_elf_object *ret_object);
/* The address of the default version of `name`, or NULL. Resolves IFUNCs. */
void *wf_elf_lookup(const struct wf_elf_object *o, const char *name);
/*
 * Finds an object and looks up one name in it. object: "libc.so" or "ld-linux".
 */
void *wf_elf_symbol(const char *object, const char *name);

/*
 * True if the program itself, not one of its libraries, refers to `name` in
 * another object.
 */
bool wf_elf_program_imports(const char *name);

/*
 * The environment as ld.so has found it, or NULL. libc may not have it yet when
 * the program makes its first call.
 */
char **wf_elf_environment(void);

/* True if the program is built with ThreadSanitizer. */
bool wf_elf_has_thread_sanitizer(void);

#endif
