/* SPDX-License-Identifier: MIT */
/*
 * --stats: the library's counters, in weft's form and at the same place, when a
 * process exits in which MPI calls have been replaced. weft's own counters are
 * in another report, since they are another library's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/mpi.h"

enum { FILE_MODE = 0666 };

struct wf_mpi_stats wf_mpi_stats;
static bool has_begun;

static unsigned long value(const _Atomic uint64_t *counter)
{
	return (unsigned long)atomic_load_explicit(counter,
						   memory_order_relaxed);
}

static void print_text(FILE *to)
{
	fprintf(to, "weft: MPI in %s (process %d)\n",
		program_invocation_short_name, getpid());
#define LINE(name, text) \
	fprintf(to, "weft: %s: %lu\n", text, value(&wf_mpi_stats.name));
	WF_MPI_COUNTERS(LINE)
#undef LINE
}

static void print_json(FILE *to)
{
	fprintf(to, "{\"process\": %d", getpid());
#define KEY(name, text) \
	fprintf(to, ", \"mpi_%s\": %lu", #name, value(&wf_mpi_stats.name));
	WF_MPI_COUNTERS(KEY)
#undef KEY
	fputs("}\n", to);
}

/* One write, so that the reports of several ranks do not mix. */
static void print(const char *form, const char *path)
{
	char bytes[2048];
	FILE *to = fmemopen(bytes, sizeof(bytes), "w");
	int fd = path != NULL && *path != '\0' ?
			 open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			      FILE_MODE) :
			 STDERR_FILENO;
	ssize_t written;

	if (to == NULL)
		return;
	if (strcmp(form, "json") == 0)
		print_json(to);
	else
		print_text(to);
	fclose(to);
	written = write(fd < 0 ? STDERR_FILENO : fd, bytes, strlen(bytes));
	(void)written;
	if (fd > STDERR_FILENO)
		close(fd);
}

void wf_mpi_stats_begin(void)
{
	has_begun = true;
}

__attribute__((destructor)) static void fini(void)
{
	const char *form = getenv("WEFT_STATS");

	if (has_begun && form != NULL && strcmp(form, "0") != 0)
		print(form, getenv("WEFT_STATS_FILE"));
}
