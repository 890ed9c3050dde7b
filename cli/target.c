/*
 * Judges a program before it runs: a line from weft beats what would happen
 * otherwise, a program that runs on native threads and nobody notices.
 */
#include "target.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cli.h"
#include "elf.h"
#include "file.h"
#include "os/sys.h"
#include "path.h"
#include "text.h"

/* As many as the kernel follows before it gives up with ELOOP. */
#define MAX_INTERPRETERS 5
/* What the kernel reads of a script to find its interpreter. */
#define SCRIPT_HEAD 256

/*
 * Whether the kernel will run the file in secure mode, in which ld.so ignores
 * LD_PRELOAD: the effective ids differ from the real ones, or the file brings
 * capabilities to somebody who is not root.
 */
static bool is_privileged(const char *path, const struct stat *st)
{
	long uid = wf_sys(SYS_geteuid), real_uid = wf_sys(SYS_getuid);
	long gid = wf_sys(SYS_getegid), real_gid = wf_sys(SYS_getgid);
	struct statfs fs;

	if (wf_sys(SYS_prctl, PR_GET_NO_NEW_PRIVS) != 1 &&
	    wf_sys(SYS_statfs, path, &fs) == 0 &&
	    (fs.f_flags & ST_NOSUID) == 0) {
		if (st->st_mode & S_ISUID)
			uid = st->st_uid;
		if ((st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP))
			gid = st->st_gid;
		if (real_uid != 0 &&
		    wf_sys(SYS_getxattr, path, "security.capability") > 0)
			return true;
	}
	return uid != real_uid || gid != real_gid;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool is_glibc_loader(const char *path)
{
	const char *name = file_name(path);

	return strncmp(name, "ld-linux", strlen("ld-linux")) == 0;
}

static int judge_loader(const char *label, const char *loader)
{
	const char *name = file_name(loader);

	if (strncmp(name, "ld-musl", strlen("ld-musl")) == 0)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: linked with musl, and weft works with "
				   "glibc only; build it against glibc",
				   label);
	if (!is_glibc_loader(loader))
		return wf_complain(
			WF_EXIT_WEFT,
			"%s: not linked with glibc, which weft needs "
			"(its loader is %s); build it against glibc",
			label, loader);
	if (wf_sys(SYS_faccessat, AT_FDCWD, loader, F_OK) < 0)
		return wf_complain(
			WF_EXIT_NOT_FOUND,
			"%s: needs the loader %s, which is not there", label,
			loader);
	return 0;
}

static int judge_elf(const char *label, const struct wf_elf *elf)
{
	switch (elf->kind) {
	case WF_ELF_NONE:
		return 0;
	case WF_ELF_BROKEN:
		return wf_complain(WF_EXIT_CANNOT_RUN, "%s: a damaged ELF file",
				   label);
	case WF_ELF_32BIT:
		return wf_complain(WF_EXIT_WEFT,
				   "%s: a 32-bit program, and weft runs 64-bit "
				   "ones only; build it for 64 bits",
				   label);
	case WF_ELF_OTHER_CPU:
		return wf_complain(
			WF_EXIT_WEFT,
			"%s: built for another kind of CPU; build it "
			"for this one",
			label);
	case WF_ELF_LIBRARY:
		return wf_complain(WF_EXIT_CANNOT_RUN,
				   "%s: a shared library, not a program",
				   label);
	case WF_ELF_OTHER:
		return wf_complain(WF_EXIT_CANNOT_RUN,
				   "%s: an object file or a core dump, not a "
				   "program",
				   label);
	case WF_ELF_NATIVE:
		break;
	}
	if (elf->is_go)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: a Go program, which has user-level "
				   "threads of its own; run it without weft",
				   label);
	if (elf->loader[0] == '\0')
		return wf_complain(WF_EXIT_WEFT,
				   "%s: statically linked, so that weft cannot "
				   "be loaded into it; link it dynamically",
				   label);
	return judge_loader(label, elf->loader);
}

/* Cuts the next word off the line; "" if there is none. */
static const char *next_word(char **line)
{
	char *word = *line + strspn(*line, " \t");
	size_t len = strcspn(word, " \t");

	*line = word + len + (word[len] != '\0');
	word[len] = '\0';
	return word;
}

/*
 * What env(1) is going to execute, if it can be told: the first word that is
 * neither an option nor a variable. Not found: env itself, which will say so.
 */
static void follow_env(char *rest, char path[PATH_MAX])
{
	char found[PATH_MAX];
	const char *word;

	do {
		word = next_word(&rest);
		if (strncmp(word, "-S", 2) == 0 && word[2] != '\0')
			word += 2;
	} while (*word == '-' || strchr(word, '=') != NULL);
	if (*word != '\0' && wf_path_search(word, found) == 0)
		strcpy(path, found);
}

/* The interpreter named in a script's first line; "" if it is no script. */
static void script_interpreter(const char *bytes, size_t size,
			       char ret_path[PATH_MAX])
{
	char head[SCRIPT_HEAD + 1];
	size_t len = size < SCRIPT_HEAD ? size : SCRIPT_HEAD;
	char *line = head + 2;

	ret_path[0] = '\0';
	if (len < 2 || bytes[0] != '#' || bytes[1] != '!')
		return;
	memcpy(head, bytes, len);
	head[len] = '\0';
	head[strcspn(head, "\n")] = '\0';
	strcpy(ret_path, next_word(&line));
	if (strcmp(file_name(ret_path), "env") == 0)
		follow_env(line, ret_path);
}

/*
 * Judges one file. Returns 0 or an exit status; fills in ret_next with the
 * interpreter to judge in its place, or with "".
 */
static int inspect_file(const char *label, struct wf_target *target,
			char ret_next[PATH_MAX])
{
	const char *path = target->binary;
	struct wf_elf elf = { .kind = WF_ELF_NONE };
	struct stat st;
	size_t size;
	char *bytes;
	int status;

	ret_next[0] = '\0';
	status = wf_path_check(label, path, &st);
	if (status != 0)
		return status;
	target->was_read = wf_file_map(path, &bytes, &size) == 0;
	if (target->was_read) {
		script_interpreter(bytes, size, ret_next);
		wf_elf_read(bytes, size, &elf);
		wf_file_unmap(bytes, size);
	}
	target->was_read |= st.st_size == 0;
	if (ret_next[0] != '\0')
		return 0; /* the kernel ignores a script's own set-id bits */
	if (is_privileged(path, &st))
		return wf_complain(
			WF_EXIT_WEFT,
			"%s: set-user-ID, set-group-ID or with file "
			"capabilities, so that the kernel keeps weft "
			"out of it; run it without weft",
			label);
	strcpy(target->loader, elf.loader);
	strcpy(target->sanitizer, elf.sanitizer);
	/* It loads the program that its arguments name. */
	if (elf.kind == WF_ELF_LIBRARY && is_glibc_loader(path)) {
		strcpy(target->loader, path);
		return 0;
	}
	return judge_elf(label, &elf);
}

int wf_target_inspect(const char *path, struct wf_target *ret_target)
{
	struct wf_target target = { .loader = "" };
	char label[2 * PATH_MAX + 32];
	char next[PATH_MAX];

	label[0] = '\0';
	wf_text_append(target.binary, sizeof(target.binary), path);
	wf_text_append(label, sizeof(label), path);
	for (int i = 0; i <= MAX_INTERPRETERS; i++) {
		int status = inspect_file(label, &target, next);

		if (status != 0)
			return status;
		if (next[0] == '\0') {
			*ret_target = target;
			return 0;
		}
		strcpy(target.binary, next);
		label[0] = '\0';
		wf_text_append(label, sizeof(label), path);
		wf_text_append(label, sizeof(label), ": its interpreter ");
		wf_text_append(label, sizeof(label), next);
	}
	return wf_complain(WF_EXIT_CANNOT_RUN,
			   "%s: too many interpreters of interpreters", path);
}
