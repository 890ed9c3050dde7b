/* SPDX-License-Identifier: MIT */
/*
 * weft core PID OUT: writes a core file of a process that goes on.
 *
 * CORE_LIVE-1. All kernel threads are stopped from before the first page and
 *     the first register is read until the last page is: the core belongs to
 *     one moment.
 * CORE_LIVE-2. Pages are read through /proc/PID/mem, which reads what the
 *     program itself may not read. A page that cannot be read is zero in the
 *     core.
 * CORE_LIVE-3. The file is written from its begin to its end, so it may go to a
 *     pipe.
 * CORE_LIVE-4. An old OUT is overwritten only when the process is stopped and
 *     all else than its memory has been read. Before that a failure leaves OUT
 *     as it was.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/machine.h"
#include "cli.h"
#include "core.h"
#include "core_pages.h"
#include "core_stop.h"
#include "see/core_notes.h"

struct live {
	int pid, memory;
	struct wf_see *see;
	struct wf_core_stop stop;
	struct wf_core_pages pages;
	struct wf_see_buffer notes;
	uint32_t nr_threads;
};

static const char *proc(const struct live *l, const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", l->pid, name);
	return path;
}

static size_t read_proc(const struct live *l, const char *name, char *to,
			size_t room)
{
	int fd = open(proc(l, name), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, to, room);

	if (fd >= 0)
		close(fd);
	return n > 0 ? (size_t)n : 0;
}

/* --- notes, as the kernel has them --------------------------------------- */

static void append_process(const struct live *l, struct wf_see_buffer *to)
{
	struct elf_prpsinfo info = { .pr_sname = 'S', .pr_pid = l->pid };
	char stat[512], *after, auxv[1024];
	size_t nr = read_proc(l, "stat", stat, sizeof(stat) - 1);
	int ppid, pgrp, sid;

	stat[nr] = '\0';
	after = strrchr(stat, ')');
	if (after != NULL &&
	    sscanf(after, ") %*c %d %d %d", &ppid, &pgrp, &sid) == 3) {
		info.pr_ppid = ppid;
		info.pr_pgrp = pgrp;
		info.pr_sid = sid;
	}
	nr = read_proc(l, "comm", info.pr_fname, sizeof(info.pr_fname) - 1);
	info.pr_fname[strcspn(info.pr_fname, "\n")] = '\0';
	nr = read_proc(l, "cmdline", info.pr_psargs,
		       sizeof(info.pr_psargs) - 1);
	for (size_t i = 0; i + 1 < nr; i++)
		if (info.pr_psargs[i] == '\0')
			info.pr_psargs[i] = ' ';
	wf_see_append_note(to, "CORE", NT_PRPSINFO, &info, sizeof(info));
	nr = read_proc(l, "auxv", auxv, sizeof(auxv));
	wf_see_append_note(to, "CORE", NT_AUXV, auxv, nr);
	wf_see_append_note(to, "CORE", NT_FILE, l->pages.files.bytes,
			   l->pages.files.nr);
}

static void append_floats(int tid, struct wf_see_buffer *to)
{
	static char state[64 << 10];
	struct user_fpregs_struct floats;
	struct iovec iov = { state, sizeof(state) };

	if (ptrace(PTRACE_GETFPREGS, tid, NULL, &floats) == 0)
		wf_see_append_note(to, "CORE", NT_PRFPREG, &floats,
				   sizeof(floats));
	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_X86_XSTATE,
		   &iov) == 0)
		wf_see_append_note(to, "LINUX", NT_X86_XSTATE, state,
				   iov.iov_len);
}

/* The process's notes follow those of its first thread, as the kernel does. */
static void append_threads(const struct live *l, struct wf_see_buffer *to)
{
	for (size_t i = 0; i < l->stop.nr; i++) {
		const struct wf_see_stopped *s = &l->stop.threads[i];
		struct elf_prstatus status = { .pr_pid = s->tid,
					       .pr_cursig = (short)s->signal,
					       .pr_fpvalid = 1 };

		memcpy(status.pr_reg, &s->registers, sizeof(s->registers));
		wf_see_append_note(to, "CORE", NT_PRSTATUS, &status,
				   sizeof(status));
		if (i == 0)
			append_process(l, to);
		append_floats(s->tid, to);
	}
}

static int make_notes(struct live *l)
{
	struct wf_see_buffer kernel = { 0 };
	struct wf_see_table table = { 0 };
	uint32_t nr_added;
	int err = wf_see_threads(l->see, &table);

	if (err == 0 || err == WF_SEE_NO_THREADS) {
		append_threads(l, &kernel);
		err = kernel.has_failed ?
			      -ENOMEM :
			      wf_see_core_notes(l->see, &table, kernel.bytes,
						kernel.nr, &l->notes,
						&nr_added);
	}
	l->nr_threads = table.nr;
	wf_see_buffer_free(&kernel);
	wf_see_table_free(&table);
	return err;
}

/* --- the file ------------------------------------------------------------ */

static uint64_t aligned(uint64_t n)
{
	return (n + WF_CORE_BLOCK - 1) / WF_CORE_BLOCK * WF_CORE_BLOCK;
}

/* More segments than the header can count are counted in a section's. */
static void write_head(const struct live *l, uint64_t nr,
		       struct wf_core_output *out)
{
	const bool many = nr >= PN_XNUM;
	const Elf64_Shdr count = { .sh_size = 1, .sh_info = (uint32_t)nr };
	const Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = WF_NATIVE_MACHINE,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phoff = sizeof(head) + (many ? sizeof(count) : 0),
		.e_phnum = many ? PN_XNUM : (uint16_t)nr,
		.e_shoff = many ? sizeof(head) : 0,
		.e_shnum = many,
		.e_shentsize = many ? sizeof(count) : 0,
	};
	uint64_t at = head.e_phoff + nr * sizeof(Elf64_Phdr);
	Elf64_Phdr p = { .p_type = PT_NOTE,
			 .p_offset = at,
			 .p_filesz = l->notes.nr,
			 .p_align = 4 };

	wf_core_write(out, &head, sizeof(head));
	if (many)
		wf_core_write(out, &count, sizeof(count));
	wf_core_write(out, &p, sizeof(p));
	at = aligned(at + l->notes.nr);
	for (size_t i = 0; i < l->pages.nr; i++) {
		const struct wf_core_segment *s = &l->pages.segments[i];

		p = (Elf64_Phdr){ .p_type = PT_LOAD,
				  .p_flags = s->flags,
				  .p_offset = at,
				  .p_vaddr = s->start,
				  .p_filesz = s->bytes,
				  .p_memsz = s->end - s->start,
				  .p_align = WF_CORE_BLOCK };
		wf_core_write(out, &p, sizeof(p));
		at += s->bytes;
	}
	wf_core_write(out, l->notes.bytes, l->notes.nr);
	wf_core_skip(out, aligned(out->at) - out->at);
}

static void write_segment(const struct live *l, const struct wf_core_segment *s,
			  struct wf_core_output *out)
{
	static char bytes[WF_CORE_CHUNK];
	uint64_t done = 0;

	while (done < s->bytes && out->err == 0) {
		uint64_t want = s->bytes - done;
		ssize_t n = pread(l->memory, bytes,
				  want < sizeof(bytes) ? want : sizeof(bytes),
				  (off_t)(s->start + done));

		if (n > 0)
			wf_core_write(out, bytes, (size_t)n);
		else
			wf_core_skip(out, n = WF_CORE_BLOCK); /* CORE_LIVE-2 */
		done += (uint64_t)n;
	}
}

static int prepare(struct live *l)
{
	int err = wf_core_pages(l->pid, l->memory, &l->pages);

	return err == 0 ? make_notes(l) : err;
}

/* CORE_LIVE-4 */
static int write_live(struct live *l, struct wf_core_output *out)
{
	if (out->can_seek && ftruncate(out->fd, 0) != 0)
		return out->err = -errno;
	write_head(l, l->pages.nr + 1, out);
	for (size_t i = 0; i < l->pages.nr; i++)
		write_segment(l, &l->pages.segments[i], out);
	return wf_core_finish(out);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int begin(struct live *l, const char *pid)
{
	int err = wf_see_open(pid, &l->see);

	if (err < 0)
		return err;
	l->pid = wf_see_pid(l->see);
	l->memory = open(proc(l, "mem"), O_RDONLY | O_CLOEXEC);
	return l->memory < 0 ? -errno : 0;
}

int wf_core_live(const char *pid, const char *path)
{
	struct live l = { .memory = -1 };
	struct wf_core_output out;
	double stopped_ms = 0;
	int err = begin(&l, pid), failed = 0;

	if (err == 0)
		failed = wf_core_create(path, &out);
	if (failed == 0 && err == 0) {
		stopped_ms = now_ms();
		err = wf_core_stop(l.pid, &l.stop); /* CORE_LIVE-1 */
		if (err == 0)
			err = prepare(&l);
		if (err < 0 && out.is_new)
			unlink(path);
		else if (err == 0)
			failed = write_live(&l, &out);
		wf_core_go_on(&l.stop);
		stopped_ms = now_ms() - stopped_ms;
	}
	wf_core_pages_free(&l.pages);
	wf_see_buffer_free(&l.notes);
	wf_see_close(l.see);
	if (failed < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s", path,
				   wf_error_text(-failed));
	if (err < 0)
		return wf_complain(WF_EXIT_WEFT, "%s: %s", pid,
				   wf_see_error_text(err));
	fprintf(stderr,
		"weft: %s: has %u threads; "
		"process %s was stopped for %.0f ms\n",
		path, l.nr_threads, pid, stopped_ms);
	return 0;
}
