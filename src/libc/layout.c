/* SPDX-License-Identifier: MIT */
/*
 * Finds the offsets of the fields in glibc's structures that weft writes, since
 * they differ between versions of glibc. They are in the _thread_db_* tables,
 * which libc exports for libthread_db. These are triples {bits, count, offset}
 * for fields and single words for sizes. Functions are looked up by name. The
 * word for clean-ups is found by a trial: a clean-up is pushed, and the TCB
 * searched for its address.
 */
#include "libc/layout.h"

#include <pthread.h>

#include "arch/arch.h"
#include "libc/elf.h"
#include "os/clock.h"
#include "base/compiler.h"
#include "base/self.h"

struct wf_libc_layout wf_libc;

struct field {
	const char *name;
	size_t *ret;
	bool is_size;
};

static struct wf_elf_object libc, loader;

static const char *read_fields(const struct field *f, size_t nr)
{
	for (; nr > 0; nr--, f++) {
		const uint32_t *w = wf_elf_lookup(&libc, f->name);

		if (w == NULL)
			return f->name;
		*f->ret = f->is_size ? w[0] : w[2];
	}
	return NULL;
}

static const char *read_offsets(size_t *ret_user, size_t *ret_slotinfo)
{
	struct wf_libc_layout *l = &wf_libc;
	const struct field fields[] = {
		{ "_thread_db_sizeof_pthread", &l->pthread_bytes, true },
		{ "_thread_db_pthread_list", &l->list_offset, false },
		{ "_thread_db_pthread_tid", &l->tid_offset, false },
		{ "_thread_db_pthread_specific", &l->specific_offset, false },
		{ "_thread_db_pthread_cancelhandling", &l->cancel_offset,
		  false },
		{ "_thread_db_pthread_dtvp", &l->dtv_offset, false },
		{ "_thread_db_rtld_global__dl_stack_user", ret_user, false },
		{ "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list",
		  ret_slotinfo, false },
		{ "_thread_db_dtv_slotinfo_list_next", &l->slotinfo_next_offset,
		  false },
		{ "_thread_db_dtv_slotinfo_list_slotinfo",
		  &l->slotinfo_array_offset, false },
		{ "_thread_db_dtv_slotinfo_map", &l->slotinfo_map_offset,
		  false },
		{ "_thread_db_link_map_l_tls_offset", &l->tls_offset_offset,
		  false },
		{ "_thread_db_sizeof_dtv_slotinfo", &l->slotinfo_bytes, true },
	};

	return read_fields(fields, WF_ARRAY_LEN(fields));
}

static const char *read_functions(void)
{
	struct wf_libc_layout *l = &wf_libc;
	const struct {
		const struct wf_elf_object *object;
		const char *name;
		void *ret;
	} rows[] = {
		{ &loader, "_dl_allocate_tls", &l->allocate_tls },
		{ &libc, "malloc", &l->libc_malloc },
		{ &libc, "free", &l->libc_free },
		{ &libc, "__call_tls_dtors", &l->call_tls_dtors },
		{ &libc, "__nptl_nthreads", &l->nr_threads },
		{ &libc, "__pthread_keys", &l->keys },
		{ &libc, "clock_gettime", &wf_os_clock_gettime },
	};

	for (size_t i = 0; i < WF_ARRAY_LEN(rows); i++) {
		void *p = wf_elf_lookup(rows[i].object, rows[i].name);

		if (p == NULL)
			return rows[i].name;
		*(void **)rows[i].ret = p;
	}
	return NULL;
}

/*
 * Finds the fields with a thread's policy and priority. The offsets stay 0 if
 * this libc does not export them; then libc asks the kernel.
 */
static void find_policy(void)
{
	const struct field fields[] = {
		{ "_thread_db_pthread_schedparam_sched_priority",
		  &wf_libc.priority_offset, false },
		{ "_thread_db_pthread_schedpolicy", &wf_libc.policy_offset,
		  false },
	};

	read_fields(fields, WF_ARRAY_LEN(fields));
}

/*
 * Finds the word that libc sets when it registers a clean-up. The offset stays
 * 0 if libc lacks these functions or keeps the list elsewhere.
 */
static void find_cleanups(void)
{
	void (*push)(struct _pthread_cleanup_buffer *, void (*)(void *),
		     void *) =
		(void (*)(struct _pthread_cleanup_buffer *, void (*)(void *),
			  void *))wf_elf_lookup(&libc, "_pthread_cleanup_push");
	void (*pop)(struct _pthread_cleanup_buffer *, int) =
		(void (*)(struct _pthread_cleanup_buffer *,
			  int))wf_elf_lookup(&libc, "_pthread_cleanup_pop");
	void *volatile *words = (void *volatile *)wf_cpu_thread_register();
	struct _pthread_cleanup_buffer entry;
	size_t nr = wf_libc.pthread_bytes / sizeof(*words), nr_found = 0,
	       at = 0;

	if (push == NULL || pop == NULL)
		return;
	push(&entry, NULL, NULL);
	for (size_t i = 0; i < nr; i++) {
		if (words[i] == &entry) {
			at = i;
			nr_found++;
		}
	}
	pop(&entry, 0);
	if (nr_found == 1 && words[at] == entry.__prev)
		wf_libc.cleanup_offset = at * sizeof(*words);
}

const char *wf_libc_layout_init(void)
{
	struct wf_libc_layout *l = &wf_libc;
	size_t user = 0, slotinfo = 0;
	const char *missing;
	void (*static_info)(size_t *, size_t *);
	char *rtld;

	if (!wf_elf_find("libc.so", &libc) || !wf_elf_find("ld-linux", &loader))
		return "table of symbols";
	missing = read_offsets(&user, &slotinfo);
	if (missing == NULL)
		missing = read_functions();
	if (missing != NULL)
		return missing;
	rtld = wf_elf_lookup(&loader, "_rtld_global");
	if (rtld == NULL)
		return "_rtld_global";
	l->rtld_global = rtld;
	l->stack_user_list = (void **)(rtld + user);
	l->slotinfo_list = rtld + slotinfo;
	static_info = (void (*)(size_t *, size_t *))wf_elf_lookup(
		&loader, "_dl_get_tls_static_info");
	if (static_info == NULL)
		return "_dl_get_tls_static_info";
	static_info(&l->static_tls_bytes, &l->static_tls_align);
	find_policy();
	find_cleanups();
	l->self_offset = (uintptr_t)&wf_self - wf_cpu_thread_register();
	return NULL;
}
