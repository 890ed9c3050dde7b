/* SPDX-License-Identifier: MIT */
/*
 * Walks stacks by the frame pointers that functions push: at each is the
 * caller's frame pointer, and behind it the address to return to.
 *
 * FRAMES-1. The threads that do not run go on meanwhile, and a stack may be
 *     gone at any moment. So memory is read by the kernel, through a pipe,
 *     which returns an error where there is none.
 * FRAMES-2. A frame lies above the one that it has called, and 100 frames are
 *     enough. So each walk ends.
 * FRAMES-3. The text is written when all threads go on again: its reader may be
 *     one of them.
 */
#include "see/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/log.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/output.h"
#include "os/sys.h"
#include "sched/table.h"
#include "sched/entry.h"
#include "sched/thread.h"
#include "signal/dump_signal.h"

enum {
	MOST_FRAMES = 100,
	MOST_MAPS = 4096,
	LINE = 512,
	TEXT_BYTES = 32 << 20, /* of 50,000 threads; touched as far as needed */
	MAPS_BYTES = 32 << 20,
};

/* A mapped file with code. The name ends with a newline. */
struct map {
	uint64_t start, end, offset;
	const char *name;
};

/* All that a dump needs; in memory of its own, zeroed. */
struct dump {
	int pipe[2]; /* FRAMES-1 */
	uint32_t nr_maps, nr_paused;
	size_t len;
	struct map maps[MOST_MAPS];
	char file[MAPS_BYTES]; /* /proc/self/maps */
	char text[TEXT_BYTES];
};

static void add(struct dump *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add(struct dump *d, const char *fmt, ...)
{
	va_list ap;

	if (TEXT_BYTES - d->len < LINE)
		return;
	va_start(ap, fmt);
	d->len += wf_vformat(d->text + d->len, LINE, fmt, ap);
	va_end(ap);
}

/* --- files ---------------------------------------------------------------- */

static const char *read_hex(const char *p, uint64_t *ret_number)
{
	uint64_t n = 0;

	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			n = n << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			n = n << 4 | (uint64_t)(*p - 'a' + 10);
		else
			break;
	}
	*ret_number = n;
	return p;
}

/* "start-end rwxp offset device inode   /path" */
static void read_line(struct dump *d, const char *line)
{
	struct map *m = &d->maps[d->nr_maps];
	const char *p = read_hex(line, &m->start), *end = strchr(line, '\n');
	const char *slash = strchr(line, '/');

	if (*p != '-' || end == NULL || slash == NULL || slash > end)
		return;
	p = read_hex(p + 1, &m->end);
	if (strlen(p) < 6 || p[3] != 'x')
		return;
	read_hex(p + 6, &m->offset);
	for (m->name = slash + 1; slash < end; slash++)
		if (*slash == '/')
			m->name = slash + 1;
	d->nr_maps++;
}

static void read_maps(struct dump *d)
{
	int fd = (int)wf_sys(SYS_openat, AT_FDCWD, "/proc/self/maps",
			     O_RDONLY | O_CLOEXEC);
	const char *line = d->file, *end;
	size_t nr = 0;
	long n = fd;

	while (n >= 0 && nr < MAPS_BYTES - 1) {
		n = wf_sys(SYS_read, fd, d->file + nr, MAPS_BYTES - 1 - nr);
		if (n <= 0)
			break;
		nr += (size_t)n;
	}
	if (fd >= 0)
		wf_sys(SYS_close, fd);
	while (d->nr_maps < MOST_MAPS && (end = strchr(line, '\n')) != NULL) {
		read_line(d, line);
		line = end + 1;
	}
}

/* --- a stack -------------------------------------------------------------- */

/* FRAMES-1 */
static bool peek(const struct dump *d, uint64_t address, void *to, size_t bytes)
{
	long n = wf_sys(SYS_write, d->pipe[1], address, bytes);

	/* Less than all: what is in the pipe has to go. */
	return n > 0 && wf_sys(SYS_read, d->pipe[0], to, n) == n &&
	       n == (long)bytes;
}

static void add_frame(struct dump *d, uint64_t address)
{
	char name[LINE / 2];
	size_t len = 0;

	for (uint32_t i = 0; i < d->nr_maps; i++) {
		const struct map *m = &d->maps[i];

		if (address < m->start || address >= m->end)
			continue;
		len = strcspn(m->name, "\n");
		len = len < sizeof(name) ? len : sizeof(name) - 1;
		memcpy(name, m->name, len);
		name[len] = '\0';
		add(d, "    ? %s+0x%lx\n", name,
		    address - m->start + m->offset);
		return;
	}
	add(d, "    ? 0x%lx\n", address);
}

/* FRAMES-2 */
static void walk(struct dump *d, uint64_t pc, uint64_t sp, uint64_t frame)
{
	uint64_t pushed[2];

	add_frame(d, pc);
	for (int i = 0; i < MOST_FRAMES; i++) {
		if (frame < sp || frame % 8 != 0 ||
		    !peek(d, frame, pushed, sizeof(pushed)) || pushed[1] == 0)
			break;
		add_frame(d, pushed[1]);
		sp = frame + 1;
		frame = pushed[0];
	}
}

static void walk_context(struct dump *d, const ucontext_t *uc)
{
	struct wf_arch_registers r =
		wf_arch_registers_of(uc->uc_mcontext.gregs);

	walk(d, r.rip, r.rsp, r.rbp);
}

/* The frame that a switch has left at sp. */
static void walk_saved(struct dump *d, uint64_t sp)
{
	uint64_t frame, pc;
	ucontext_t uc;

	if (!peek(d, sp + WF_ARCH_FRAME_RBP, &frame, sizeof(frame)) ||
	    !peek(d, sp + WF_ARCH_FRAME_RIP, &pc, sizeof(pc)))
		return;
	if (pc != (uintptr_t)wf_arch_frame_resume)
		walk(d, pc, sp + WF_ARCH_FRAME_BYTES, frame);
	else if (peek(d, sp + WF_ARCH_FRAME_BYTES, &uc, sizeof(uc)))
		walk_context(d, &uc);
}

static void walk_paused(struct dump *d, uint64_t thread_register)
{
	for (uint32_t i = 0; i < d->nr_paused; i++) {
		const struct wf_dump_paused *p = &wf_dump_paused[i];

		if (p->thread_register != thread_register)
			continue;
		walk(d, p->registers.rip, p->registers.rsp, p->registers.rbp);
		return;
	}
	add(d, "    (it runs, and was not stopped)\n");
}

/* --- threads -------------------------------------------------------------- */

static void begin_thread(struct dump *d, const char *state, int tid,
			 const char *name)
{
	char printed[17];
	size_t i = 0;

	for (; i < sizeof(printed) - 1 && name[i] != '\0'; i++)
		printed[i] = name[i] > ' ' && name[i] < 127 ? name[i] : '?';
	printed[i] = '\0';
	if (d->len > 0)
		add(d, "\n");
	if (i > 0)
		add(d, "1 thread, %s: %d (%s)\n", state, tid, printed);
	else
		add(d, "1 thread, %s: %d\n", state, tid);
}

/* A volatile copy: the thread goes on. */
static void add_thread(struct dump *d, const volatile struct wf_thread *t)
{
	char name[17] = "";
	uint64_t sp = (uintptr_t)t->ctx.sp;
	bool is_waiting = t->wait_addr != NULL;

	for (size_t i = 0; i < sizeof(t->name); i++)
		name[i] = t->name[i];
	if ((t->not_started & WF_NOT_STARTED_BIT) != 0) {
		begin_thread(d, "not-started", t->tid, name);
		add_frame(d, (uintptr_t)t->start_routine);
		return;
	}
	begin_thread(d,
		     is_waiting ? "parked" :
		     sp == 0	? "running" :
				  "runnable",
		     t->tid, name);
	if (sp != 0)
		walk_saved(d, sp);
	else
		walk_paused(d, (uintptr_t)t->slot.tcb);
}

/* NULL: there is no memory, or no pipe. */
static struct dump *begin(void)
{
	struct dump *d = wf_os_reserve(sizeof(*d));

	if (d == NULL)
		return NULL;
	if (wf_sys(SYS_pipe2, d->pipe, O_CLOEXEC) == 0) {
		read_maps(d);
		return d;
	}
	wf_os_release(d, sizeof(*d));
	return NULL;
}

static void end(struct dump *d, int out)
{
	wf_sys(SYS_close, d->pipe[0]);
	wf_sys(SYS_close, d->pipe[1]);
	wf_os_write_quietly(out, d->text, d->len);
	wf_os_release(d, sizeof(*d));
}

void wf_frames_print_all(int out)
{
	struct dump *d = begin();

	if (d == NULL)
		return;
	d->nr_paused = wf_dump_pause_begin();
	for (uint32_t i = 1; i < wf_table_high(); i++) {
		const struct wf_thread *t = wf_table_at(i);

		if (wf_thread_exists(t) && t->kind != WF_THREAD_FOREIGN)
			add_thread(d, t);
	}
	wf_dump_pause_end();
	end(d, out); /* FRAMES-3 */
}

void wf_frames_print_alone(const struct ucontext_t *uc)
{
	struct dump *d;

	if (!wf_os_stderr_is_there())
		return;
	d = begin();
	if (d == NULL)
		return;
	wf_log("%s: process %d has made no thread yet; frames by frame "
	       "pointers, which may be wrong",
	       wf_dump_signal_name(), wf_os_getpid());
	begin_thread(d, "running", wf_os_gettid(), "");
	walk_context(d, uc);
	end(d, 2);
}
