/* SPDX-License-Identifier: MIT */
/*
 * Asks the program's own dynamic loader, by --list, which libraries it finds:
 * only the loader knows all of its rules. Libraries that a program loads later
 * are not in that list. So this file also reads the program's RUNPATH for
 * folders beside the program, and visits the libraries in them.
 */
#include "libraries.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf.h"
#include "environment.h"
#include "file.h"

/* Levels below a folder of the RUNPATH: java has lib/server/libjvm.so. */
enum { MOST_LEVELS = 2 };

struct visitor {
	void (*visit)(const char *path, void *arg);
	void *arg;
	const char *origin; /* the program's folder */
};

/* --- what the loader finds ------------------------------------------------ */

static void become_loader(const char *loader, char *binary, int out)
{
	char *argv[] = { (char *)loader, "--list", binary, NULL };

	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (wf_environment_set("LD_PRELOAD", ""))
		execve(loader, argv, wf_environment_all());
	_exit(EXIT_FAILURE);
}

/* Visits the path in " NAME => PATH (ADDRESS)". The vDSO has no path. */
static void visit_line(char *line, const struct visitor *v)
{
	char *path = strstr(line, " => /");
	char *end = strrchr(line, '(');

	if (path == NULL || end == NULL || end == line)
		return;
	end[-1] = '\0';
	v->visit(path + strlen(" => "), v->arg);
}

static bool visit_found(const char *loader, char *binary,
			const struct visitor *v)
{
	static char line[2 * PATH_MAX];
	int status = -1, ends[2];
	FILE *from;
	pid_t pid;

	if (pipe(ends) < 0)
		return false;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become_loader(loader, binary, ends[1]);
	close(ends[1]);
	from = fdopen(ends[0], "r");
	while (from != NULL && fgets(line, sizeof(line), from) != NULL)
		visit_line(line, v);
	if (from != NULL)
		fclose(from);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- what lies beside the program ---------------------------------------- */

static bool is_library_name(const char *name)
{
	const char *so = strstr(name, ".so");

	return so != NULL && (so[3] == '\0' || so[3] == '.');
}

static void visit_below(const char *folder, int level, const struct visitor *v)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char *path;
		struct stat st;

		if (entry->d_name[0] == '.' ||
		    asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
			continue;
		if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
		    level < MOST_LEVELS)
			visit_below(path, level + 1, v);
		else if (S_ISREG(st.st_mode) && is_library_name(entry->d_name))
			v->visit(path, v->arg);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Visits one folder of a RUNPATH, if it is relative to the program. */
static void visit_entry(const char *entry, size_t len, const struct visitor *v)
{
	static const char *const origins[] = { "$ORIGIN", "${ORIGIN}" };

	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++) {
		size_t origin = strlen(origins[i]);
		char *folder;

		if (len < origin || strncmp(entry, origins[i], origin) != 0)
			continue;
		/* Skips the program's folder itself, which may be /usr/bin. */
		if (len == origin)
			return;
		if (asprintf(&folder, "%s%.*s", v->origin, (int)(len - origin),
			     entry + origin) < 0)
			return;
		visit_below(folder, 1, v);
		free(folder);
	}
}

static void visit_runpath(const char *folders, void *arg)
{
	while (*folders != '\0') {
		size_t len = strcspn(folders, ":");

		visit_entry(folders, len, arg);
		folders += len;
		folders += strspn(folders, ":");
	}
}

bool wf_libraries_visit(const struct wf_target *target,
			void (*visit)(const char *path, void *arg), void *arg)
{
	struct visitor v = { .visit = visit, .arg = arg };
	/* $ORIGIN is the folder of the file, not of a link to it. */
	char *binary = realpath(target->binary, NULL);
	bool has_all;
	size_t size;
	char *bytes;

	if (binary == NULL)
		return false;
	has_all = visit_found(target->loader, binary, &v);
	if (wf_file_map(binary, &bytes, &size) == 0) {
		*strrchr(binary, '/') = '\0';
		v.origin = binary;
		wf_elf_runpaths(bytes, size, visit_runpath, &v);
		wf_file_unmap(bytes, size);
	}
	free(binary);
	return has_all;
}
