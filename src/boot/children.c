/* SPDX-License-Identifier: MIT */
/*
 * Some programs that the program executes must not or cannot run on weft. For
 * them this file removes weft's entries from LD_PRELOAD and GLIBC_TUNABLES:
 *
 * - from all programs under --no-children and under ThreadSanitizer. The
 *   entries are removed in place, before any code has copied the environment.
 *   The library of ThreadSanitizer is removed too, as it crashes in programs
 *   that are not built for it;
 * - from a program that cannot load weft, in a copy of the environment. With
 *   weft a 32-bit ld.so would complain, musl's would end the program, and Go's
 *   threads would be weft's. Static and set-user-ID programs ignore LD_PRELOAD.
 *
 * A child of fork may use only what a signal handler may use, so this file does
 * not call malloc.
 */
#include "boot/children.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/machine.h"
#include "os/mem.h"
#include "os/sys.h"
#include "signal/memory.h"

enum {
	HEAD_BYTES = 4096, /* how much of a file is read */
	/* longest first line of a script, as in the kernel */
	HEAD_LINE = 256,
	/* scripts that name a script: the kernel's limit */
	MAX_INTERPRETERS = 5,
};

/* --- the variables --- */

static bool is_separator(char c)
{
	return c == ':' || c == ' ';
}

static bool is_file(const char *entry, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	return len >= name_len &&
	       strncmp(entry + len - name_len, name, name_len) == 0 &&
	       (len == name_len || entry[len - name_len - 1] == '/');
}

static bool is_weft(const char *entry, size_t len)
{
	return is_file(entry, len, "libweft.so.0") ||
	       is_file(entry, len, "libweft.so") ||
	       is_file(entry, len, "libweft-mpi.so.0");
}

/*
 * True for ThreadSanitizer's library. Compares only the name, since the weft
 * command puts the library there in this form.
 */
static bool is_thread_sanitizer(const char *entry, size_t len)
{
	static const char *const names[] = { "libtsan.so", "libclang_rt.tsan" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (len >= strlen(names[i]) &&
		    strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/* True for a tunable as the weft command puts it there. */
static bool is_tunable(const char *entry, size_t len)
{
	static const char tunable[] = "glibc.pthread.rseq=0";

	return len == sizeof(tunable) - 1 && memcmp(entry, tunable, len) == 0;
}

static bool is_preloaded(const char *entry, size_t len)
{
	return is_weft(entry, len) || is_thread_sanitizer(entry, len);
}

enum { PRELOAD, TUNABLES, NR_LISTS };

static const struct list {
	const char *name;
	size_t name_len;
	bool (*is_ours)(const char *entry, size_t len);
} lists[NR_LISTS] = {
	[PRELOAD] = { "LD_PRELOAD=", 11, is_preloaded },
	[TUNABLES] = { "GLIBC_TUNABLES=", 15, is_tunable },
};

/*
 * Removes weft's entries from a variable. Returns false if no entries remain.
 */
static bool filter(const struct list *l, char *variable)
{
	char *first = variable + l->name_len, *to = first;

	for (char *p = first; *p != '\0';) {
		size_t len = 0;

		while (p[len] != '\0' && !is_separator(p[len]))
			len++;
		if (len > 0 && !l->is_ours(p, len)) {
			if (to != first)
				*to++ = ':';
			memmove(to, p, len);
			to += len;
		}
		p += len + (p[len] != '\0');
	}
	*to = '\0';
	return to != first;
}

static const struct list *list_of(const char *variable)
{
	for (size_t i = 0; i < NR_LISTS; i++) {
		if (strncmp(variable, lists[i].name, lists[i].name_len) == 0)
			return &lists[i];
	}
	return NULL;
}

void wf_children_spare_all(char **envp)
{
	char **to = envp;

	for (char **p = envp; *p != NULL; p++) {
		const struct list *l = list_of(*p);

		if (l == NULL || filter(l, *p))
			*to++ = *p;
	}
	*to = NULL;
}

/* --- the program --- */

struct head {
	size_t size;
	union {
		char bytes[HEAD_BYTES + 1]; /* 0 follows the last byte */
		Elf64_Ehdr elf;
	};
};

static bool read_head(int dir, const char *path, struct head *ret_head)
{
	/* O_NONBLOCK: open must not wait if `path` is a FIFO. */
	long fd = wf_sys(SYS_openat, dir, path,
			 O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	long n;

	if (fd < 0)
		return false;
	n = wf_sys(SYS_pread64, fd, ret_head->bytes, HEAD_BYTES, 0);
	wf_sys(SYS_close, fd);
	if (n < 4)
		return false;
	ret_head->size = (size_t)n;
	ret_head->bytes[n] = '\0';
	return true;
}

/* Reads the interpreter of a script. Returns false if the file is no script. */
static bool script_interpreter(const struct head *h, char ret_path[HEAD_LINE])
{
	const char *path = h->bytes + 2;
	size_t len;

	if (h->bytes[0] != '#' || h->bytes[1] != '!')
		return false;
	path += strspn(path, " \t");
	len = strcspn(path, " \t\r\n");
	if (len == 0 || len >= HEAD_LINE)
		return false;
	memcpy(ret_path, path, len);
	ret_path[len] = '\0';
	return true;
}

static bool is_glibc_loader(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash != NULL ? slash + 1 : path, "ld-linux",
		       strlen("ld-linux")) == 0;
}

/*
 * True if the program can load weft, or if its headers lie beyond the bytes
 * that were read.
 */
static bool elf_takes_weft(const struct head *h)
{
	const Elf64_Ehdr *elf = &h->elf;
	uint64_t end = elf->e_phoff + elf->e_phnum * sizeof(Elf64_Phdr);

	if (h->size < sizeof(*elf) || elf->e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->e_ident[EI_DATA] != ELFDATA2LSB ||
	    elf->e_machine != WF_NATIVE_MACHINE)
		return false;
	if (elf->e_phoff > h->size || end > h->size || elf->e_phoff % 8 != 0)
		return true;
	for (size_t i = 0; i < elf->e_phnum; i++) {
		const Elf64_Phdr *p =
			(const Elf64_Phdr *)(h->bytes + elf->e_phoff) + i;
		const char *bytes = h->bytes + p->p_offset;

		if (p->p_offset > h->size - sizeof(Elf64_Nhdr) - 4)
			continue;
		if (p->p_type == PT_INTERP && !is_glibc_loader(bytes))
			return false;
		if (p->p_type == PT_NOTE &&
		    memcmp(bytes + sizeof(Elf64_Nhdr), "Go\0", 4) == 0)
			return false;
	}
	return true;
}

/*
 * True if the file, or the interpreter of a script, can load weft. Also true
 * for files of unknown type and unreadable files, which are left to the kernel.
 */
static bool judge(int dir, const char *path, struct head *h)
{
	char interpreter[HEAD_LINE];

	for (int i = 0; i <= MAX_INTERPRETERS; i++) {
		if (!read_head(dir, path, h))
			return true;
		if (memcmp(h->bytes, ELFMAG, SELFMAG) == 0)
			return elf_takes_weft(h);
		if (!script_interpreter(h, interpreter))
			return true;
		path = interpreter;
		dir = AT_FDCWD;
	}
	return true;
}

/* As judge. Allocates the buffer, since the caller's stack may be small. */
static bool takes_weft(int dir, const char *path)
{
	struct head *h = wf_os_reserve(sizeof(*h));
	bool takes = true;

	if (h != NULL) {
		takes = judge(dir, path, h);
		wf_os_release(h, sizeof(*h));
	}
	return takes;
}

/* --- the new environment --- */

/*
 * True if the byte at `at` can be read. *page is the last page checked: each
 * page of neighbouring addresses is checked once.
 */
static bool is_readable(const void *at, uintptr_t *page)
{
	if ((uintptr_t)at / WF_PAGE == *page)
		return true;
	if (!wf_memory_is_readable(at, 1))
		return false;
	*page = (uintptr_t)at / WF_PAGE;
	return true;
}

static bool is_variable(const struct list *l, const char *entry,
			uintptr_t *page)
{
	for (size_t i = 0; i < l->name_len; i++) {
		if (!is_readable(entry + i, page) || entry[i] != l->name[i])
			return false;
	}
	return wf_memory_is_string(entry, SIZE_MAX);
}

struct found {
	size_t nr; /* number of envp's entries */
	/* index of each variable in envp; SIZE_MAX: none */
	size_t at[NR_LISTS];
};

/*
 * Finds weft's variables in envp. Returns false if weft is not preloaded, or if
 * an entry is not readable, which the kernel will report.
 */
static bool find_lists(char *const envp[], struct found *f)
{
	/* the last page checked of each kind */
	uintptr_t entries = UINTPTR_MAX, strings = UINTPTR_MAX;
	size_t i;

	*f = (struct found){ 0, { SIZE_MAX, SIZE_MAX } };
	for (i = 0; is_readable(&envp[i], &entries) && envp[i] != NULL; i++) {
		for (size_t n = 0; n < NR_LISTS; n++) {
			if (f->at[n] == SIZE_MAX &&
			    is_variable(&lists[n], envp[i], &strings))
				f->at[n] = i;
		}
	}
	f->nr = i;
	return f->at[PRELOAD] != SIZE_MAX &&
	       strstr(envp[f->at[PRELOAD]], "libweft.so") != NULL &&
	       is_readable(&envp[i], &entries);
}

/*
 * Copies envp without weft's entries; `text` is memory for the changed
 * variables.
 */
static void copy_env(char **to, char *text, char *const envp[],
		     const struct found *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		const struct list *l = i == f->at[PRELOAD]  ? &lists[PRELOAD] :
				       i == f->at[TUNABLES] ? &lists[TUNABLES] :
							      NULL;

		*to = envp[i];
		if (l != NULL) {
			*to = strcpy(text, envp[i]);
			text += strlen(text) + 1;
			if (!filter(l, *to))
				continue;
		}
		to++;
	}
	*to = NULL;
}

char *const *wf_children_env(struct wf_children_env *e, int dir,
			     const char *path, char *const envp[])
{
	size_t text_bytes = 0;
	struct found f;
	char **copy;

	*e = (struct wf_children_env){ NULL, 0 };
	if (path == NULL || !find_lists(envp, &f) || takes_weft(dir, path))
		return envp;
	for (size_t n = 0; n < NR_LISTS; n++) {
		if (f.at[n] != SIZE_MAX)
			text_bytes += strlen(envp[f.at[n]]) + 1;
	}
	e->bytes = (f.nr + 1) * sizeof(*envp) + text_bytes;
	e->memory = wf_os_reserve(e->bytes);
	if (e->memory == NULL)
		return envp;
	copy = e->memory;
	copy_env(copy, (char *)(copy + f.nr + 1), envp, &f);
	return copy;
}

void wf_children_env_free(struct wf_children_env *e)
{
	if (e->memory != NULL)
		wf_os_release(e->memory, e->bytes);
}

const char *wf_children_find(const char *file, char ret_path[PATH_MAX])
{
	const char *list = getenv("PATH");

	if (strchr(file, '/') != NULL)
		return file;
	for (list = list != NULL ? list : "/bin:/usr/bin";; list++) {
		size_t len = strcspn(list, ":");

		if (len + strlen(file) + 2 <= PATH_MAX) {
			memcpy(ret_path, list, len);
			ret_path[len] = '/';
			strcpy(ret_path + len + (len > 0), file);
			if (wf_sys(SYS_faccessat, AT_FDCWD, ret_path, X_OK) ==
			    0)
				return ret_path;
		}
		list += len;
		if (*list == '\0')
			return NULL;
	}
}
