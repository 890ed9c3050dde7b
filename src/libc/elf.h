/*
 * Symbols of the loaded libc and ld.so, looked up in their ELF tables.
 *
 * dlsym takes the loader's lock and may call malloc, which may be a library
 * whose first allocation brought us here. This takes nothing: it walks the
 * loader's public list of objects and the GNU hash tables in memory.
 */
#ifndef WEFT_LIBC_ELF_H
#define WEFT_LIBC_ELF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Address of the default version of `name` in the object whose file name
 * begins with `object` ("libc.so", "ld-linux"), or NULL. IFUNCs are resolved.
 */
void *wf_elf_symbol(const char *object, const char *name);

/* Does the program, not a library of its, refer to another object's `name`? */
bool wf_elf_program_imports(const char *name);

/* Is the program built with ThreadSanitizer? */
bool wf_elf_has_thread_sanitizer(void);

#endif
