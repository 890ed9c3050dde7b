/* SPDX-License-Identifier: MIT */
/*
 * weft core: gives each thread of a core file a note with its registers, so
 * that debuggers show all of them.
 *
 * CORE-1. No segment moves. The notes with those of the parked threads are
 *     appended, and then the one header of the notes is changed. So a write
 *     that fails leaves the old core.
 * CORE-2. The copy is complete also if no threads can be added: a filter must
 *     not lose the core of another program.
 *
 * Rejected: notes before the segments. A filter would have to know all stacks
 * before it writes its first byte, and the segments would move.
 */
#include "core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "see/core.h"
#include "see/core_notes.h"
#include "see/open.h"

void wf_core_help(FILE *to)
{
	fputs("usage: weft core IN [OUT]\n"
	      "       weft core PID OUT\n\n"
	      "Adds the registers of each thread that waits to the core file "
	      "of a program on weft,\nso that gdb, lldb and eu-stack show all "
	      "threads. Without OUT, IN itself is changed.\n"
	      "IN may be compressed by zstd, as systemd-coredump does it. "
	      "'-' is the standard\ninput or output: the command is a filter "
	      "for core_pattern then.\n\n"
	      "With the number of a process, writes a core file of it. The "
	      "process is stopped\nmeanwhile, and a line says for how long.\n\n"
	      "Exit status: 0, or 125 if the threads cannot be added; OUT is a "
	      "copy of IN then.\n",
	      to);
}

int wf_core_create(const char *path, struct wf_core_output *ret_out)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW;
	bool is_new;
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0) {
		*ret_out = (struct wf_core_output){ .fd = STDOUT_FILENO };
		return 0;
	}
	fd = open(path, flags | O_CREAT | O_EXCL, 0600);
	is_new = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(path, flags | O_CREAT, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ret_out = (struct wf_core_output){ .fd = fd,
					    .can_seek = S_ISREG(st.st_mode),
					    .is_new = is_new };
	return 0;
}

/* --- one core ------------------------------------------------------------ */

struct job {
	const char *in, *out; /* out: NULL, in place */
	int in_fd;
	struct wf_core_output to;
	int base; /* regular and not compressed: in_fd, to.fd or another file */
};

static bool is_file(int fd, struct stat *ret_st)
{
	return fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode);
}

/* A file without a name, for a core that comes by a pipe and goes by one. */
static int temporary(void)
{
	static char path[4096];
	const char *folder = getenv("TMPDIR");
	int fd;

	if (folder == NULL || *folder == '\0')
		folder = "/var/tmp";
	if (snprintf(path, sizeof(path), "%s/weft-core-XXXXXX", folder) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* Makes base from a pipe or a compressed file. */
static int unpack(struct job *j)
{
	struct wf_core_output temp = { .can_seek = true };

	if (j->to.can_seek) {
		j->base = j->to.fd;
		return wf_core_spool(j->in_fd, &j->to);
	}
	temp.fd = temporary();
	if (temp.fd < 0) {
		wf_core_spool(j->in_fd, &j->to); /* CORE-2 */
		return temp.fd;
	}
	j->base = temp.fd;
	return wf_core_spool(j->in_fd, &temp);
}

/* Writes the core, with the changes of the plan if there is one (CORE-1). */
static int write_core(struct job *j, const struct wf_see_core_plan *plan)
{
	struct wf_core_output *to = &j->to;
	struct stat st;
	uint64_t split = plan->header_at, end;

	if (!is_file(j->base, &st))
		return -EIO;
	end = (uint64_t)st.st_size;
	if (j->base != to->fd && plan->notes.nr > 0 && !to->can_seek) {
		/* A pipe: the header is changed as it passes. */
		wf_core_copy(j->base, 0, split, to);
		wf_core_write(to, &plan->header, sizeof(plan->header));
		split += sizeof(plan->header);
		wf_core_copy(j->base, split, end, to);
	} else if (j->base != to->fd) {
		wf_core_copy(j->base, 0, end, to);
	}
	if (plan->notes.nr == 0)
		return j->base != to->fd ? wf_core_finish(to) : 0;
	if (j->base == to->fd)
		to->at = end;
	wf_core_skip(to, plan->notes_at - end);
	wf_core_write(to, plan->notes.bytes, plan->notes.nr);
	wf_core_finish(to);
	if (to->err == 0 && to->can_seek &&
	    pwrite(to->fd, &plan->header, sizeof(plan->header),
		   (off_t)plan->header_at) != sizeof(plan->header))
		to->err = errno != 0 ? -errno : -EIO;
	return to->err;
}

static int make_plan(int fd, struct wf_see_core_plan *plan)
{
	struct wf_see_source *source;
	struct wf_see *see = NULL;
	int err = wf_see_core_open_fd(fd, &source);

	if (err < 0)
		return err;
	err = wf_see_core_check(source);
	if (err < 0) {
		source->close(source);
		return err;
	}
	err = wf_see_open_source(source, &see);
	if (err == 0)
		err = wf_see_core_plan(see, plan);
	wf_see_close(see);
	return err;
}

static const char *reason(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "it is compressed, and this 'weft' was built without "
		       "libzstd: use unzstd";
	case -EILSEQ:
		return "its compressed data is damaged";
	case -ENODATA:
		return "its compressed data is cut off";
	case WF_SEE_NOT_CORE:
		return "not a core file of this kind of CPU";
	default:
		return wf_see_error_text(err);
	}
}

static int run(struct job *j)
{
	struct wf_see_core_plan plan = { 0 };
	const char *copied = "; copied as it is";
	int unpacked = 0, err, written;

	if (j->base < 0)
		unpacked = unpack(j);
	if (j->base < 0)
		return wf_complain(WF_EXIT_WEFT,
				   "%s: no temporary file, see TMPDIR: %s; "
				   "copied as it is",
				   j->in, wf_error_text(-unpacked));
	err = unpacked;
	if (err == 0)
		err = make_plan(j->base, &plan);
	if (err < 0)
		wf_see_buffer_free(&plan.notes);
	if (j->out == NULL)
		copied = "";
	else if (unpacked < 0 && unpacked != -EOPNOTSUPP)
		copied = "; copied as far as it goes";
	written = j->out == NULL && err < 0 ? 0 : write_core(j, &plan);
	wf_see_buffer_free(&plan.notes);
	if (written < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s",
				   j->out != NULL ? j->out : j->in,
				   wf_error_text(-written));
	if (err < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s%s", j->in, reason(err),
				   copied);
	fprintf(stderr, "weft: %s: added %u of %u threads\n",
		j->out != NULL ? j->out : j->in, plan.nr_added,
		plan.nr_threads);
	return 0;
}

/* Without OUT: IN itself, or from the standard input to the output. */
static int open_job(struct job *j)
{
	struct stat in, out;
	char magic[4];
	int err;

	if (j->out == NULL && strcmp(j->in, "-") == 0)
		j->out = "-";
	j->in_fd = strcmp(j->in, "-") == 0 ?
			   STDIN_FILENO :
			   open(j->in, (j->out == NULL ? O_RDWR : O_RDONLY) |
					       O_CLOEXEC);
	if (j->in_fd < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s", j->in,
				   wf_error_text(errno));
	if (is_file(j->in_fd, &in) && lseek(j->in_fd, 0, SEEK_CUR) == 0 &&
	    !wf_core_is_zstd(magic, (size_t)pread(j->in_fd, magic, 4, 0)))
		j->base = j->in_fd;
	if (j->out == NULL) {
		j->to = (struct wf_core_output){ .fd = j->in_fd,
						 .can_seek = true };
		if (j->base >= 0)
			return 0;
		return wf_complain(WF_EXIT_WEFT,
				   "%s: it is no plain file, so "
				   "give the name of a new one as well",
				   j->in);
	}
	err = wf_core_create(j->out, &j->to);
	if (err < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s", j->out,
				   wf_error_text(-err));
	if (j->to.can_seek && is_file(j->in_fd, &in) &&
	    is_file(j->to.fd, &out) && in.st_dev == out.st_dev &&
	    in.st_ino == out.st_ino) {
		if (j->base < 0)
			return wf_complain(WF_EXIT_WEFT,
					   "%s: it cannot be "
					   "both, since it is compressed",
					   j->out);
		j->base = j->to.fd;
		j->out = NULL;
	} else if (j->to.can_seek && ftruncate(j->to.fd, 0) != 0) {
		return wf_complain(WF_EXIT_WEFT, "%s: %s", j->out,
				   wf_error_text(errno));
	}
	return 0;
}

int wf_core_main(char **argv)
{
	struct job job = { .in_fd = -1, .base = -1 };
	int status;

	if (argv[1] != NULL && wf_asks_for_help(argv[1])) {
		wf_core_help(stdout);
		return 0;
	}
	for (char **arg = argv + 1; *arg != NULL; arg++)
		if ((*arg)[0] == '-' && (*arg)[1] != '\0')
			return wf_complain(WF_EXIT_WEFT,
					   "core: wrong option "
					   "'%s'; see 'weft core --help'",
					   *arg);
	if (argv[1] == NULL || (argv[2] != NULL && argv[3] != NULL) ||
	    (argv[2] == NULL && wf_see_process_number(argv[1]) > 0))
		return wf_complain(WF_EXIT_WEFT, "usage: weft core IN [OUT], "
						 "or weft core PID OUT");
	if (wf_see_process_number(argv[1]) > 0)
		return wf_core_live(argv[1], argv[2]);
	job.in = argv[1];
	job.out = argv[2];
	status = open_job(&job);
	return status != 0 ? status : run(&job);
}
