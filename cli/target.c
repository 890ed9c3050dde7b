/* SPDX-License-Identifier: MIT */
/*
 * Inspects a program before it runs. Without this, a program that weft cannot
 * run would run on native threads, and the user would not notice. So the
 * command prints a line instead.
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
#include "script.h"
#include "text.h"

/* The kernel follows this many interpreters, then fails with ELOOP. */
#define MAX_INTERPRETERS 5

/*
 * True if the kernel will run the file in secure mode, in which ld.so ignores
 * LD_PRELOAD. Then the effective ids differ from the real ones, or the file has
 * capabilities and the user is not root.
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

static bool is_glibc_loader(const char *path)
{
	const char *name = wf_path_name(path);

	return strncmp(name, "ld-linux", strlen("ld-linux")) == 0;
}

static int judge_loader(const char *label, const char *loader)
{
	const char *name = wf_path_name(loader);

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
	if (elf->loader[0] == '\0' && elf->weft_version[0] != '\0')
		return 0; /* weft itself: `weft run weft run PROGRAM` */
	if (elf->loader[0] == '\0')
		return wf_complain(WF_EXIT_WEFT,
				   "%s: statically linked, so that weft cannot "
				   "be loaded into it; link it dynamically",
				   label);
	return judge_loader(label, elf->loader);
}

/*
 * Inspects one file. Returns 0 or an exit status. If the file is a script,
 * fills ret_script with the interpreter to inspect next.
 */
static int inspect_file(const char *label, struct wf_target *target,
			struct wf_script *ret_script)
{
	const char *path = target->binary;
	static struct wf_elf elf;
	struct stat st;
	size_t size;
	char *bytes;
	int status;

	wf_elf_read("", 0, &elf);
	wf_script_read("", 0, ret_script);
	status = wf_path_check(label, path, &st);
	if (status != 0)
		return status;
	target->was_read = wf_file_map(path, &bytes, &size) == 0;
	if (target->was_read) {
		wf_script_read(bytes, size, ret_script);
		wf_elf_read(bytes, size, &elf);
		wf_file_unmap(bytes, size);
	}
	target->was_read |= st.st_size == 0;
	if (ret_script->interpreter[0] != '\0')
		return 0; /* the kernel ignores a script's own set-id bits */
	if (is_privileged(path, &st))
		return wf_complain(
			WF_EXIT_WEFT,
			"%s: set-user-ID, set-group-ID or with file "
			"capabilities, so that the kernel keeps weft "
			"out of it; run it without weft",
			label);
	target->is_weft = elf.weft_version[0] != '\0';
	strcpy(target->loader, elf.loader);
	strcpy(target->sanitizer, elf.sanitizer);
	/* The loader runs the program that its arguments name. */
	if (elf.kind == WF_ELF_LIBRARY && is_glibc_loader(path)) {
		strcpy(target->loader, path);
		return 0;
	}
	return judge_elf(label, &elf);
}

int wf_target_inspect(const char *path, struct wf_target *ret_target)
{
	static struct wf_target target;
	static char label[2 * PATH_MAX + 32];
	static struct wf_script script;

	target.binary[0] = target.loader[0] = label[0] = '\0';
	target.is_weft = false;
	wf_text_append(target.binary, sizeof(target.binary), path);
	wf_text_append(label, sizeof(label), path);
	for (int i = 0; i <= MAX_INTERPRETERS; i++) {
		int status = inspect_file(label, &target, &script);

		if (status != 0)
			return status;
		if (script.interpreter[0] == '\0') {
			*ret_target = target;
			return 0;
		}
		strcpy(target.binary, script.interpreter);
		label[0] = '\0';
		wf_text_append(label, sizeof(label), path);
		wf_text_append(label, sizeof(label), ": its interpreter ");
		wf_text_append(label, sizeof(label), script.interpreter);
		if (script.error != 0)
			return wf_path_explain(label, script.error);
	}
	return wf_complain(WF_EXIT_CANNOT_RUN,
			   "%s: too many interpreters of interpreters", path);
}
