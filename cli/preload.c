#include "preload.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli.h"

#define LIBRARY "libweft.so"
#define TUNABLE "glibc.pthread.rseq"

/* A list as ld.so reads them, in an environment variable. */
struct list {
	char *text;
	size_t len;
};

static void append(struct list *l, const char *entry, size_t len)
{
	char *text = realloc(l->text, l->len + len + 2);

	if (text == NULL)
		exit(wf_complain(WF_EXIT_WEFT, "out of memory"));
	l->text = text;
	if (l->len > 0)
		text[l->len++] = ':';
	memcpy(text + l->len, entry, len);
	l->len += len;
	text[l->len] = '\0';
}

/*
 * Appends the entries of a variable except those that weft replaces, so that
 * a program started by another one that runs on weft gets each once.
 */
static void append_variable(struct list *l, const char *name,
			    const char *separators,
			    bool (*is_replaced)(const char *entry, size_t len))
{
	const char *s = getenv(name);

	while (s != NULL && *s != '\0') {
		size_t len = strcspn(s, separators);

		if (len > 0 && !is_replaced(s, len))
			append(l, s, len);
		s += len;
		s += strspn(s, separators);
	}
}

static bool is_weft(const char *entry, size_t len)
{
	const char *slash = memrchr(entry, '/', len);
	const char *name = slash != NULL ? slash + 1 : entry;
	size_t name_len = len - (size_t)(name - entry);

	return name_len == strlen(LIBRARY) &&
	       memcmp(name, LIBRARY, name_len) == 0;
}

static bool is_rseq(const char *entry, size_t len)
{
	return len > strlen(TUNABLE) && entry[strlen(TUNABLE)] == '=' &&
	       memcmp(entry, TUNABLE, strlen(TUNABLE)) == 0;
}

static bool try_library(char ret_path[PATH_MAX], const char *dir,
			const char *below)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/" LIBRARY, dir, below);
	return realpath(path, ret_path) != NULL;
}

/* Where /proc is not mounted, the command's path is what execve was given. */
static void find_own_path(char ret_path[PATH_MAX])
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	ssize_t len = readlink("/proc/self/exe", ret_path, PATH_MAX - 1);

	ret_path[len > 0 ? len : 0] = '\0';
	if (len < 0 && (given == NULL || realpath(given, ret_path) == NULL))
		ret_path[0] = '\0';
}

int wf_preload_find_library(char ret_path[PATH_MAX])
{
	char exe[PATH_MAX];
	char *slash;

	find_own_path(exe);
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

int wf_preload_set(const char *library, const char *sanitizer)
{
	struct list preload = { NULL, 0 };
	struct list tunables = { NULL, 0 };

	if (strpbrk(library, ": ") != NULL)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: ld.so preloads no library whose path "
				   "has a space or a colon; move weft",
				   library);
	/* By name only: ld.so finds it where it finds the program's own. */
	if (*sanitizer != '\0')
		append(&preload, sanitizer, strlen(sanitizer));
	append_variable(&preload, "LD_PRELOAD", ": ", is_weft);
	append(&preload, library, strlen(library));
	append_variable(&tunables, "GLIBC_TUNABLES", ":", is_rseq);
	append(&tunables, TUNABLE "=0", strlen(TUNABLE "=0"));
	if (setenv("LD_PRELOAD", preload.text, 1) < 0 ||
	    setenv("GLIBC_TUNABLES", tunables.text, 1) < 0)
		return wf_complain(WF_EXIT_WEFT, "out of memory");
	return 0;
}
