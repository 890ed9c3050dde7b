/* SPDX-License-Identifier: MIT */
/*
 * Maps the file and walks its ELF tables. The file may be any path that the
 * user names, so elf.c checks each offset, and a file that is no ELF file
 * has no imports.
 */
#include "imports.h"

#include "elf.h"
#include "file.h"

bool wf_imports_visit(const char *path,
		      void (*visit)(const char *name, void *arg), void *arg)
{
	size_t size;
	char *bytes;

	if (wf_file_map(path, &bytes, &size) < 0)
		return false;
	wf_elf_imports(bytes, size, visit, arg);
	wf_file_unmap(bytes, size);
	return true;
}
