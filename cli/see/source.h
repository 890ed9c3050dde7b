/* SPDX-License-Identifier: MIT */
/*
 * A source of memory: a process, a core file, or a test's own. For the files of
 * this folder, and for tests.
 *
 *     source->read(source, address, to, bytes)
 */
#ifndef WEFT_CLI_SEE_SOURCE_H
#define WEFT_CLI_SEE_SOURCE_H

#include <sys/user.h>

#include "see.h"

/* A kernel thread of a core file, as its note has it. */
struct wf_see_kernel_thread {
	int tid;
	struct user_regs_struct registers; /* fs_base: the thread register */
};

struct wf_see_source {
	/* As wf_see_read_some. */
	size_t (*read)(const struct wf_see_source *s, uint64_t address,
		       void *to, size_t bytes);
	void (*close)(struct wf_see_source *s);
	int pid;	     /* 0: no process */
	bool has_inner_pids; /* it is in a PID namespace of its own */
	struct wf_see_map *maps;
	size_t nr_maps;
	/* Of a core file, by thread register. */
	struct wf_see_kernel_thread *kernel;
	size_t nr_kernel;
};

/* The kernel thread of a core file with this thread register, or NULL. */
const struct wf_see_kernel_thread *
wf_see_kernel_thread_of(const struct wf_see_source *s,
			uint64_t thread_register);

/* Return 0 or an error. The source closes itself. */
int wf_see_process_open(int pid, struct wf_see_source **ret_source);
int wf_see_core_open(const char *path, struct wf_see_source **ret_source);

/*
 * A process that serves its memory to a descriptor (src/see/dump_stream.h).
 * Takes the descriptor.
 */
int wf_see_stream_open(int fd, struct wf_see_source **ret_source);

/* Sorts source->kernel for wf_see_kernel_thread_of. */
void wf_see_kernel_threads_sort(struct wf_see_source *s);

/*
 * Parses a line of /proc/PID/maps, and cuts it. False: no file is mapped there.
 * The name is in the line.
 */
bool wf_see_map_parse(char *line, struct wf_see_map *ret_map);

/* The caller's number for a kernel thread of the process, which has its own. */
int wf_see_outer_tid(const struct wf_see_source *s, int tid);

/* Appends a map; the name is copied. 0 or -ENOMEM. */
int wf_see_map_add(struct wf_see_source *s, const struct wf_see_map *map);
void wf_see_maps_free(struct wf_see_source *s);

/* Takes the source, also if it fails. */
int wf_see_open_source(struct wf_see_source *source, struct wf_see **ret_see);

#endif
