/* SPDX-License-Identifier: MIT */
/*
 * Finds libweft.so, checks it, and sets LD_PRELOAD and GLIBC_TUNABLES. ld.so
 * only warns about a library that it cannot load and then runs the program
 * natively. So the library is checked here first.
 */
#include "preload.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "cli.h"
#include "elf.h"
#include "environment.h"
#include "file.h"
#include "place.h"
#include "text.h"
#include "weft/weft.h"

#define LIBRARY "libweft.so.0"
/* The linker's name of the library; a user may have written it. */
#define LIBRARY_LINK "libweft.so"
/* The library of --mpi, in the same folder. */
#define LIBRARY_MPI "libweft-mpi.so.0"
#define TUNABLE "glibc.pthread.rseq"

/* A list in an environment variable, as ld.so reads it. */
struct list {
	char *text;
	size_t room;
};

/* Makes a list with room for the variable's value and `more` bytes. */
static bool begin(struct list *l, const char *name, size_t more)
{
	const char *s = wf_environment_get(name);

	l->room = (s != NULL ? strlen(s) : 0) + more;
	l->text = wf_text_new(l->room);
	return l->text != NULL;
}

static void append(struct list *l, const char *entry, size_t len)
{
	if (l->text[0] != '\0')
		wf_text_append(l->text, l->room, ":");
	wf_text_append_bytes(l->text, l->room, entry, len);
}

/*
 * Appends the entries of a variable, except those that weft replaces. So a
 * program that is started from a program on weft has each entry once.
 */
static void append_variable(struct list *l, const char *name,
			    const char *separators,
			    bool (*is_replaced)(const char *entry, size_t len))
{
	const char *s = wf_environment_get(name);

	while (s != NULL && *s != '\0') {
		size_t len = strcspn(s, separators);

		if (len > 0 && !is_replaced(s, len))
			append(l, s, len);
		s += len;
		s += strspn(s, separators);
	}
}

static bool is_name(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(text, name, len) == 0;
}

static bool is_weft(const char *entry, size_t len)
{
	const char *slash = memrchr(entry, '/', len);
	const char *name = slash != NULL ? slash + 1 : entry;
	size_t name_len = len - (size_t)(name - entry);

	return is_name(name, name_len, LIBRARY) ||
	       is_name(name, name_len, LIBRARY_LINK) ||
	       is_name(name, name_len, LIBRARY_MPI);
}

static bool is_rseq(const char *entry, size_t len)
{
	return len > strlen(TUNABLE) && entry[strlen(TUNABLE)] == '=' &&
	       memcmp(entry, TUNABLE, strlen(TUNABLE)) == 0;
}

static bool try_library(char ret_path[PATH_MAX], const char *dir,
			const char *below)
{
	static char path[2 * PATH_MAX];

	path[0] = '\0';
	wf_text_append(path, sizeof(path), dir);
	wf_text_append(path, sizeof(path), below);
	wf_text_append(path, sizeof(path), "/" LIBRARY);
	return wf_place_real(path, ret_path);
}

int wf_preload_find_library(char ret_path[PATH_MAX])
{
	static char exe[PATH_MAX];
	char *slash;

	if (!wf_place_own(exe))
		return wf_complain(WF_EXIT_WEFT,
				   "cannot tell where the command itself is, "
				   "and so where " LIBRARY " is; mount /proc");
	slash = strrchr(exe, '/');
	if (slash != NULL) {
		*slash = '\0';
		if (try_library(ret_path, exe, "") ||
		    try_library(ret_path, exe, "/../" WEFT_LIBDIR))
			return 0;
	}
	if (try_library(ret_path, WEFT_PREFIX "/" WEFT_LIBDIR, ""))
		return 0;
	return wf_complain(WF_EXIT_WEFT,
			   LIBRARY " is neither beside the command nor in "
				   "%s; build or install weft anew",
			   WEFT_PREFIX "/" WEFT_LIBDIR);
}

static int complain_of(const char *library, const char *problem)
{
	return wf_complain(WF_EXIT_WEFT, "%s: %s; build or install weft anew",
			   library, problem);
}

/* Checks the content of the file, about which ld.so would print nothing. */
static int judge_library(const char *library, const struct wf_elf *elf)
{
	if (elf->kind != WF_ELF_LIBRARY)
		return complain_of(library, "not a library for this CPU");
	if (elf->weft_version[0] == '\0')
		return complain_of(library, "not weft's library");
	if (strcmp(elf->weft_version, WEFT_VERSION) != 0)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: the library of weft %s, and this "
				   "command is of weft " WEFT_VERSION
				   "; build or install weft anew",
				   library, elf->weft_version);
	if (wf_file_try_execute(library) == -EPERM)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: its code cannot be executed, since its "
				   "file system is mounted noexec; move weft",
				   library);
	return 0;
}

/* Returns 0 if ld.so can load the library, or an exit status. */
static int check_library(const char *library)
{
	static struct wf_elf elf;
	size_t size;
	char *bytes;
	int err;

	if (strpbrk(library, ": $") != NULL)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: ld.so preloads no library with a "
				   "space, a colon or a dollar sign in its "
				   "path; move weft",
				   library);
	err = wf_file_map(library, &bytes, &size);
	/*
	 * ld.so will have no descriptor for any library either, and prints
	 * that.
	 */
	if (err == -EMFILE || err == -ENFILE)
		return 0;
	if (err == -ENOMEM)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: no room for it in memory; raise the "
				   "limit on address space (ulimit -v)",
				   library);
	if (err < 0)
		return complain_of(library, "cannot be read");
	wf_elf_read(bytes, size, &elf);
	wf_file_unmap(bytes, size);
	return judge_library(library, &elf);
}

/* Finds the library of --mpi beside weft's own. Returns 0 or an exit status. */
static int find_mpi(const char *library, char ret_path[PATH_MAX])
{
	const char *slash = strrchr(library, '/');
	size_t len = slash != NULL ? (size_t)(slash - library) + 1 : 0;

	ret_path[0] = '\0';
	wf_text_append_bytes(ret_path, PATH_MAX, library, len);
	wf_text_append(ret_path, PATH_MAX, LIBRARY_MPI);
	if (wf_file_try_execute(ret_path) == 0)
		return 0;
	return wf_complain(WF_EXIT_WEFT,
			   "%s: --mpi needs this library; build or install "
			   "weft anew",
			   ret_path);
}

int wf_preload_set(const char *library, const char *sanitizer, bool with_mpi)
{
	static char mpi[PATH_MAX];
	struct list preload, tunables;
	int status = check_library(library);

	if (status == 0 && with_mpi)
		status = find_mpi(library, mpi);
	if (status != 0)
		return status;
	/* Room for each entry with its separator, and the final 0. */
	if (!begin(&preload, "LD_PRELOAD",
		   strlen(sanitizer) + strlen(library) + strlen(mpi) + 4) ||
	    !begin(&tunables, "GLIBC_TUNABLES", sizeof(TUNABLE "=0") + 1))
		return wf_complain(WF_EXIT_WEFT, "out of memory");
	/* A name only: ld.so searches it as it does for the program. */
	if (*sanitizer != '\0')
		append(&preload, sanitizer, strlen(sanitizer));
	append_variable(&preload, "LD_PRELOAD", ": ", is_weft);
	append(&preload, library, strlen(library));
	/* Behind libweft.so: both replace names, and none of the same. */
	if (*mpi != '\0')
		append(&preload, mpi, strlen(mpi));
	append_variable(&tunables, "GLIBC_TUNABLES", ":", is_rseq);
	append(&tunables, TUNABLE "=0", strlen(TUNABLE "=0"));
	if (!wf_environment_set("LD_PRELOAD", preload.text) ||
	    !wf_environment_set("GLIBC_TUNABLES", tunables.text))
		return wf_complain(WF_EXIT_WEFT, "out of memory");
	return 0;
}
