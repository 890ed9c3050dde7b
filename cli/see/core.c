/* SPDX-License-Identifier: MIT */
/*
 * The memory of a core file. A core has the pages that the process has written,
 * and the names of its mapped files (NT_FILE). Pages of files that it has only
 * read are not there.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine.h"
#include "core.h"
#include "grow.h"
#include "notes.h"

struct core {
	struct wf_see_source source;
	struct wf_see_core_file file;
	bool is_sorted; /* by address; the notes come first, at 0 */
};

const char *wf_see_core_at(const struct wf_see_core_file *f, uint64_t offset,
			   uint64_t bytes)
{
	return offset <= f->size && bytes <= f->size - offset ?
		       f->bytes + offset :
		       NULL;
}

const struct wf_see_core_file *
wf_see_core_file(const struct wf_see_source *source)
{
	return &((const struct core *)source)->file;
}

/*
 * The end of all that the file has, or should have. False: it makes no
 * sense.
 */
static bool end_of(const struct wf_see_core_file *f, uint64_t *ret_end)
{
	*ret_end = f->size;
	for (size_t i = 0; i < f->nr_segments; i++) {
		const Elf64_Phdr *p = &f->segments[i];

		if (p->p_filesz > INT64_MAX ||
		    p->p_offset > INT64_MAX - p->p_filesz)
			return false;
		if (p->p_filesz > 0 && p->p_offset + p->p_filesz > *ret_end)
			*ret_end = p->p_offset + p->p_filesz;
	}
	return true;
}

int wf_see_core_check(const struct wf_see_source *source)
{
	const struct wf_see_core_file *f = wf_see_core_file(source);
	uint64_t end;

	if (!end_of(f, &end))
		return WF_SEE_BROKEN;
	return end > f->size ? WF_SEE_CUT_OFF : 0;
}

/*
 * The first segment that may have the address. Kernels and debuggers write
 * segments in the order of their addresses; other files are searched whole.
 */
static size_t first_segment(const struct core *c, uint64_t address)
{
	size_t low = 0, high = c->is_sorted ? c->file.nr_segments : 0;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->file.segments[middle].p_vaddr <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static size_t read_memory(const struct wf_see_source *s, uint64_t address,
			  void *to, size_t bytes)
{
	const struct core *c = (const struct core *)s;
	size_t done = 0;

	for (size_t i = first_segment(c, address);
	     i < c->file.nr_segments && done < bytes; i++) {
		const Elf64_Phdr *p = &c->file.segments[i];
		uint64_t from = address + done - p->p_vaddr, n;
		const void *data;

		if (c->is_sorted && p->p_vaddr > address + done)
			break;
		if (p->p_type != PT_LOAD || address + done < p->p_vaddr ||
		    from >= p->p_filesz)
			continue;
		n = p->p_filesz - from;
		if (n > bytes - done)
			n = bytes - done;
		data = p->p_offset <= UINT64_MAX - from ?
			       wf_see_core_at(&c->file, p->p_offset + from, n) :
			       NULL;
		if (data == NULL)
			break; /* the file was cut off */
		memcpy((char *)to + done, data, n);
		done += n;
	}
	return done;
}

static void close_core(struct wf_see_source *s)
{
	struct core *c = (struct core *)s;

	wf_see_maps_free(s);
	free(s->kernel);
	if (c->file.bytes != NULL)
		munmap((void *)(uintptr_t)c->file.bytes, c->file.size);
	free(c);
}

/* Notes are aligned to 4 bytes only. */
static uint64_t word_at(const char *note, uint64_t n)
{
	uint64_t word;

	memcpy(&word, note + 8 * n, sizeof(word));
	return word;
}

/* NT_FILE: number, page size, then three words for each, then the names. */
static int read_files(struct core *c, const char *note, size_t size)
{
	const char *name, *end = note + size;
	uint64_t nr, page;

	if (size < 16)
		return 0;
	nr = word_at(note, 0);
	page = word_at(note, 1);
	if (nr > (size - 16) / 24 || page == 0 || page > 1 << 30)
		return WF_SEE_BROKEN;
	name = note + 16 + 24 * nr;
	for (uint64_t i = 0; i < nr; i++) {
		size_t len = strnlen(name, (size_t)(end - name));
		const struct wf_see_map map = {
			.start = word_at(note, 2 + 3 * i),
			.end = word_at(note, 3 + 3 * i),
			.offset = word_at(note, 4 + 3 * i) * page,
			.name = name,
		};
		int err;

		if (name + len == end)
			return WF_SEE_BROKEN;
		err = wf_see_map_add(&c->source, &map);
		if (err < 0)
			return err;
		name += len + 1;
	}
	return 0;
}

static int add_kernel_thread(struct core *c, const struct elf_prstatus *status)
{
	struct wf_see_source *s = &c->source;
	void *more = wf_see_grow(s->kernel, s->nr_kernel, sizeof(*s->kernel));

	if (more == NULL)
		return -ENOMEM;
	s->kernel = more;
	s->kernel[s->nr_kernel++] = (struct wf_see_kernel_thread){
		status->pr_pid, wf_see_status_registers(status)
	};
	return 0;
}

static int read_notes(struct core *c, const Elf64_Phdr *p)
{
	const char *notes = wf_see_core_at(&c->file, p->p_offset, p->p_filesz);
	uint64_t left = p->p_filesz;
	struct elf_prstatus status;
	struct wf_see_note note;
	int err = 0;

	if (notes == NULL || p->p_offset % 4 != 0)
		return 0;
	while (err == 0 && wf_see_note_next(&notes, &left, &note)) {
		if (note.type == NT_FILE && c->source.nr_maps == 0)
			err = read_files(c, note.data, note.bytes);
		else if (wf_see_note_status(&note, &status))
			err = add_kernel_thread(c, &status);
	}
	return err;
}

static int by_register(const void *a, const void *b)
{
	const struct wf_see_kernel_thread *x = a, *y = b;
	uint64_t p = x->registers.fs_base, q = y->registers.fs_base;

	return p < q ? -1 : p > q;
}

const struct wf_see_kernel_thread *
wf_see_kernel_thread_of(const struct wf_see_source *s, uint64_t thread_register)
{
	const struct wf_see_kernel_thread key = { .registers.fs_base =
							  thread_register };

	if (s->nr_kernel == 0)
		return NULL;
	return bsearch(&key, s->kernel, s->nr_kernel, sizeof(key), by_register);
}

void wf_see_kernel_threads_sort(struct wf_see_source *s)
{
	if (s->nr_kernel > 0)
		qsort(s->kernel, s->nr_kernel, sizeof(*s->kernel), by_register);
}

/* A core of more than 65,534 segments has their number in a section. */
static size_t nr_segments(const struct core *c, const Elf64_Ehdr *h)
{
	const Elf64_Shdr *first;

	if (h->e_phnum != PN_XNUM)
		return h->e_phnum;
	first = (const void *)wf_see_core_at(&c->file, h->e_shoff,
					     sizeof(*first));
	return first != NULL && h->e_shoff % 8 == 0 ? first->sh_info : 0;
}

static int read_header(struct core *c)
{
	const Elf64_Ehdr *h =
		(const void *)wf_see_core_at(&c->file, 0, sizeof(*h));
	int err = 0;

	if (h == NULL || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_CORE ||
	    h->e_machine != WF_NATIVE_MACHINE ||
	    h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff % 8 != 0)
		return WF_SEE_NOT_CORE;
	c->file.nr_segments = nr_segments(c, h);
	c->file.segments = (const void *)wf_see_core_at(
		&c->file, h->e_phoff, c->file.nr_segments * sizeof(Elf64_Phdr));
	if (c->file.segments == NULL)
		return WF_SEE_BROKEN;
	c->is_sorted = true;
	for (size_t i = 0; i < c->file.nr_segments && err == 0; i++) {
		if (i > 0 && c->file.segments[i].p_vaddr <
				     c->file.segments[i - 1].p_vaddr)
			c->is_sorted = false;
		if (c->file.segments[i].p_type == PT_NOTE)
			err = read_notes(c, &c->file.segments[i]);
	}
	return err;
}

static int map_file(struct core *c, int fd)
{
	struct stat st;
	void *bytes;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return WF_SEE_NOT_CORE;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	/* A few pages of each stack are read: reading ahead fills the holes. */
	madvise(bytes, (size_t)st.st_size, MADV_RANDOM);
	c->file.bytes = bytes;
	c->file.size = (size_t)st.st_size;
	return 0;
}

int wf_see_core_open_fd(int fd, struct wf_see_source **ret_source)
{
	struct core *c = calloc(1, sizeof(*c));
	int err;

	if (c == NULL)
		return -ENOMEM;
	c->source.read = read_memory;
	c->source.close = close_core;
	err = map_file(c, fd);
	if (err == 0)
		err = read_header(c);
	if (err < 0) {
		close_core(&c->source);
		return err;
	}
	wf_see_kernel_threads_sort(&c->source);
	*ret_source = &c->source;
	return 0;
}

int wf_see_core_open(const char *path, struct wf_see_source **ret_source)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = wf_see_core_open_fd(fd, ret_source);
	close(fd);
	return err;
}
