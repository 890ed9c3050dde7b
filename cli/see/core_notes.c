/* SPDX-License-Identifier: MIT */
/*
 * CORE_NOTES-1. A thread that has no saved registers has run on the kernel
 *     thread with its thread register. The note of that kernel thread gets the
 *     thread's number, since libthread_db tells debuggers the number in the
 *     TCB.
 * CORE_NOTES-2. A kernel thread that runs none of weft's threads keeps its
 *     number, unless one of them bears it: then it gets another one.
 *     Otherwise gdb drops one of the two, and the first thread's number is that
 *     of the process's first kernel thread.
 * CORE_NOTES-3. In the middle of a switch a kernel thread has the thread
 *     register of a thread with saved registers. Then both have a note.
 */
#include "core_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "threads.h"

struct known {
	uint64_t pthread;
	const struct wf_see_thread *thread;
	bool has_note;
};

struct making {
	const struct wf_see *see;
	struct wf_see_buffer *to;
	struct known *by_pthread;
	int *tids; /* sorted */
	uint32_t nr;
	int next_spare;
	struct elf_prstatus first; /* of the old notes */
};

static int compare_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->pthread < y->pthread ? -1 : x->pthread > y->pthread;
}

static int compare_tids(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

static bool begin(struct making *m, const struct wf_see_table *table)
{
	m->by_pthread = calloc((size_t)table->nr + 1, sizeof(*m->by_pthread));
	m->tids = calloc((size_t)table->nr + 1, sizeof(*m->tids));
	if (m->by_pthread == NULL || m->tids == NULL)
		return false;
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct wf_see_thread *t = &table->threads[i];

		m->by_pthread[i] = (struct known){ t->pthread, t, false };
		m->tids[i] = t->tid;
	}
	m->nr = table->nr;
	qsort(m->by_pthread, m->nr, sizeof(*m->by_pthread), compare_known);
	qsort(m->tids, m->nr, sizeof(*m->tids), compare_tids);
	return true;
}

static bool is_tid(const struct making *m, int tid)
{
	return bsearch(&tid, m->tids, m->nr, sizeof(tid), compare_tids) != NULL;
}

static bool has_saved(const struct wf_see_thread *t)
{
	return t->registers_from != WF_SEE_REGISTERS_NONE &&
	       t->registers_from != WF_SEE_REGISTERS_KERNEL;
}

/* The thread that a kernel thread ran, or that had this note before. */
static struct known *thread_of(const struct making *m,
			       const struct elf_prstatus *status)
{
	const struct user_regs_struct r = wf_see_status_registers(status);
	const struct known key = { .pthread = r.fs_base };
	struct known *k =
		bsearch(&key, m->by_pthread, m->nr, sizeof(key), compare_known);

	if (k == NULL || k->has_note)
		return NULL;
	if (!has_saved(k->thread))
		return k; /* CORE_NOTES-1 */
	/* CORE_NOTES-3, unless the note was added before. */
	return status->pr_pid == k->thread->tid &&
			       r.rip == k->thread->registers.rip &&
			       r.rsp == k->thread->registers.rsp ?
		       k :
		       NULL;
}

static int spare_tid(struct making *m)
{
	while (is_tid(m, m->next_spare))
		m->next_spare++;
	return m->next_spare++;
}

static void copy_note(struct making *m, const struct wf_see_note *note)
{
	struct elf_prstatus status;
	struct known *k;
	size_t at = m->to->nr + (size_t)(note->data - note->start);

	wf_see_append(m->to, note->start, note->whole);
	if (!wf_see_note_status(note, &status) || m->to->has_failed)
		return;
	if (m->first.pr_pid == 0)
		m->first = status;
	k = thread_of(m, &status);
	if (k != NULL) {
		k->has_note = true;
		status.pr_pid = k->thread->tid;
	} else if (is_tid(m, status.pr_pid)) {
		status.pr_pid = spare_tid(m); /* CORE_NOTES-2 */
	}
	memcpy(m->to->bytes + at, &status, sizeof(status));
}

/* --- new notes ----------------------------------------------------------- */

static void append_status(struct making *m, const struct wf_see_thread *t)
{
	const struct wf_see *see = m->see;
	struct user_regs_struct registers;
	struct elf_prstatus status = { .pr_pid = t->tid,
				       .pr_ppid = m->first.pr_ppid,
				       .pr_pgrp = m->first.pr_pgrp,
				       .pr_sid = m->first.pr_sid };

	wf_see_registers_all(see, t, &registers);
	memcpy(status.pr_reg, &registers, sizeof(registers));
	status.pr_sighold =
		wf_see_peek(see->source, t->record, &see->items.thread_sigmask);
	wf_see_append_note(m->to, "CORE", NT_PRSTATUS, &status, sizeof(status));
}

enum { MOST_STATE = 64 << 10 };

/*
 * The floating state of a preempted thread. One that has called a function of
 * weft's has none: the caller of a function keeps nothing in these registers.
 */
static void append_floats(struct making *m, const struct wf_see_thread *t)
{
	static char state[MOST_STATE];
	size_t nr = wf_see_registers_floats(m->see, t, state, sizeof(state));
	size_t fxsave = sizeof(struct user_fpregs_struct);

	if (nr >= fxsave)
		wf_see_append_note(m->to, "CORE", NT_PRFPREG, state, fxsave);
	if (nr > fxsave)
		wf_see_append_note(m->to, "LINUX", NT_X86_XSTATE, state, nr);
}

static uint32_t append_new(struct making *m, const struct wf_see_table *table)
{
	struct known *known = m->by_pthread;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < table->nr; i++) {
		const struct wf_see_thread *t = known[i].thread;

		if (known[i].has_note || !has_saved(t) ||
		    t->state == WF_SEE_EXITED)
			continue;
		append_status(m, t);
		append_floats(m, t);
		nr++;
	}
	return nr;
}

int wf_see_core_notes(const struct wf_see *see,
		      const struct wf_see_table *table, const char *old,
		      uint64_t old_bytes, struct wf_see_buffer *to,
		      uint32_t *ret_nr)
{
	struct making m = { .see = see,
			    .to = to,
			    .next_spare = WF_SEE_SPARE_TIDS };
	struct wf_see_note note;
	bool has_begun = begin(&m, table);

	while (has_begun && wf_see_note_next(&old, &old_bytes, &note))
		copy_note(&m, &note);
	if (has_begun)
		*ret_nr = append_new(&m, table);
	free(m.by_pthread);
	free(m.tids);
	return has_begun && !to->has_failed ? 0 : -ENOMEM;
}

/* --- the plan ------------------------------------------------------------ */

/* The one header with the notes of threads; or the first. */
static int find_notes(const struct wf_see_core_file *f,
		      const Elf64_Phdr **ret_header)
{
	const Elf64_Phdr *found = NULL;
	bool has_threads = false;

	for (size_t i = 0; i < f->nr_segments; i++) {
		const Elf64_Phdr *p = &f->segments[i];
		const char *at = wf_see_core_at(f, p->p_offset, p->p_filesz);
		uint64_t left = p->p_filesz;
		struct wf_see_note note;
		bool has = false;

		if (p->p_type != PT_NOTE || at == NULL)
			continue;
		while (!has && wf_see_note_next(&at, &left, &note))
			has = note.type == NT_PRSTATUS;
		if (has && has_threads)
			return WF_SEE_BROKEN;
		if (has || found == NULL)
			found = p;
		has_threads |= has;
	}
	if (found == NULL || found->p_offset % 4 != 0)
		return WF_SEE_BROKEN;
	*ret_header = found;
	return 0;
}

int wf_see_core_plan(const struct wf_see *see, struct wf_see_core_plan *plan)
{
	const struct wf_see_core_file *f = wf_see_core_file(see->source);
	const Elf64_Phdr *old = NULL;
	struct wf_see_table table = { 0 };
	int err;

	*plan = (struct wf_see_core_plan){ 0 };
	err = find_notes(f, &old);
	if (err == 0)
		err = wf_see_threads(see, &table);
	if (err < 0)
		return err;
	err = wf_see_core_notes(see, &table, f->bytes + old->p_offset,
				old->p_filesz, &plan->notes, &plan->nr_added);
	plan->nr_threads = table.nr;
	wf_see_table_free(&table);
	if (err < 0)
		return err;
	plan->header_at = (uint64_t)((const char *)old - f->bytes);
	plan->notes_at = (f->size + 3) & ~3ULL;
	plan->header = *old;
	plan->header.p_offset = plan->notes_at;
	plan->header.p_filesz = plan->notes.nr;
	if (old->p_memsz != 0)
		plan->header.p_memsz = plan->notes.nr;
	/* All was added before. */
	if (plan->notes.nr == old->p_filesz &&
	    memcmp(plan->notes.bytes, f->bytes + old->p_offset,
		   plan->notes.nr) == 0)
		wf_see_buffer_free(&plan->notes);
	return 0;
}
