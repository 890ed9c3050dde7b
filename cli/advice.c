/* SPDX-License-Identifier: MIT */
/*
 * A program gains from weft if it has many threads that wait. Its files show
 * which functions it calls, so they show whether it creates threads and in
 * which calls these may wait. They do not show how many threads there are, nor
 * how long these wait, so most answers are to be confirmed by a measurement.
 */
#include "advice.h"

#include <stdio.h>
#include <string.h>

#include "imports.h"
#include "path.h"

enum evidence {
	THREADS,     /* creates threads */
	CONNECTIONS, /* a thread waits for a peer in the call */
	EVENT_LOOP,  /* one thread waits for many descriptors */
	EACH_OTHER,  /* threads wait for each other */
	PARALLEL,    /* computes on as many threads as there are CPUs */
	PLUG_INS,    /* loads libraries that are not looked at here */
	NR_EVIDENCE,
};

/* A name that ends in '*' is the beginning of the names of C++ functions.
 * shown: the name in the sentence if it is another one. */
static const struct call {
	const char *name;
	enum evidence evidence;
	const char *shown;
} calls[] = {
	{ "pthread_create", THREADS, NULL },
	{ "thrd_create", THREADS, NULL },
	{ "_ZNSt6thread15_M_start_thread*", THREADS, "std::thread" },
	{ "accept", CONNECTIONS, NULL },
	{ "accept4", CONNECTIONS, NULL },
	{ "recv", CONNECTIONS, NULL },
	{ "recvfrom", CONNECTIONS, NULL },
	{ "recvmsg", CONNECTIONS, NULL },
	{ "epoll_wait", EVENT_LOOP, NULL },
	{ "epoll_pwait", EVENT_LOOP, NULL },
	{ "epoll_pwait2", EVENT_LOOP, NULL },
	{ "io_uring_get_sqe", EVENT_LOOP, NULL },
	{ "pthread_cond_wait", EACH_OTHER, NULL },
	{ "pthread_cond_timedwait", EACH_OTHER, NULL },
	{ "pthread_cond_clockwait", EACH_OTHER, NULL },
	{ "sem_wait", EACH_OTHER, NULL },
	{ "sem_timedwait", EACH_OTHER, NULL },
	{ "pthread_barrier_wait", EACH_OTHER, NULL },
	{ "cnd_wait", EACH_OTHER, NULL },
	{ "cnd_timedwait", EACH_OTHER, NULL },
	{ "_ZNSt18condition_variable4wait*", EACH_OTHER,
	  "std::condition_variable" },
	{ "pthread_mutex_lock", EACH_OTHER, NULL },
	{ "pthread_join", EACH_OTHER, NULL },
	{ "GOMP_parallel", PARALLEL, NULL },
	{ "__kmpc_fork_call", PARALLEL, NULL },
	{ "dlopen", PLUG_INS, NULL },
};
enum { NR_CALLS = sizeof(calls) / sizeof(calls[0]) };

/* Beginnings of the names of libraries that compute on all CPUs. */
static const char *const parallel_libraries[] = {
	"libgomp.",    "libomp.", "libiomp5.",	 "libtbb.",
	"libopenblas", "libmkl_", "libcilkrts.",
};

/* Libraries that call these functions for any program that is linked with
 * them, whether it has threads or not. */
static const char *const runtime_libraries[] = {
	"libc.", "libpthread.", "libstdc++.", "libc++.", "libm.", "ld-linux",
};

/*
 * The first call that gave each kind of evidence. The program's own calls are
 * read first, so they come before those of its libraries.
 */
static const char *shown[NR_EVIDENCE];

/* The library that creates threads, "" if the program itself does. Many
 * libraries do so only in some of their functions. */
static char creator[64];

static bool begins_with(const char *name, const char *const list[], size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strncmp(name, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

static bool is_name(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);

	return pattern[len - 1] == '*' ? strncmp(name, pattern, len - 1) == 0 :
					 strcmp(name, pattern) == 0;
}

/* A library's dlopen says little: nearly every program has one that calls it.
 * arg: the library's name, NULL for the program. */
static void note(const char *name, void *arg)
{
	const char *library = arg;

	for (size_t i = 0; i < NR_CALLS; i++) {
		const struct call *call = &calls[i];

		if (shown[call->evidence] != NULL ||
		    !is_name(name, call->name) ||
		    (call->evidence == PLUG_INS && library != NULL))
			continue;
		if (call->evidence == THREADS && library != NULL)
			snprintf(creator, sizeof(creator), "%s", library);
		shown[call->evidence] = call->shown != NULL ? call->shown :
							      call->name;
	}
}

void wf_advice_read(const char *path, bool is_program)
{
	static char library[64];
	const char *name = wf_path_name(path);
	const size_t nr_parallel =
		sizeof(parallel_libraries) / sizeof(parallel_libraries[0]);
	const size_t nr_runtime =
		sizeof(runtime_libraries) / sizeof(runtime_libraries[0]);

	if (!is_program && begins_with(name, parallel_libraries, nr_parallel)) {
		snprintf(library, sizeof(library), "%s", name);
		shown[PARALLEL] = library;
		return;
	}
	if (is_program || !begins_with(name, runtime_libraries, nr_runtime))
		wf_imports_visit(path, note, is_program ? NULL : (void *)name);
}

const char *wf_advice(void)
{
	static char text[256];

	if (shown[PARALLEL] != NULL)
		snprintf(text, sizeof(text),
			 "measure: it computes on one thread for each CPU "
			 "(%s); weft helps where there are more",
			 shown[PARALLEL]);
	else if (shown[THREADS] == NULL && shown[PLUG_INS] != NULL)
		snprintf(text, sizeof(text),
			 "measure: it creates no threads itself, but the "
			 "libraries that it loads (%s) may",
			 shown[PLUG_INS]);
	else if (shown[THREADS] == NULL)
		return "no: neither it nor its libraries create threads";
	else if (creator[0] != '\0')
		snprintf(text, sizeof(text),
			 "measure: it has no threads of its own, but %s has "
			 "threads (%s), perhaps not for this program",
			 creator, shown[THREADS]);
	else if (shown[CONNECTIONS] != NULL && shown[EVENT_LOOP] != NULL)
		snprintf(text, sizeof(text),
			 "measure: it has threads (%s) and an event loop (%s); "
			 "weft helps where threads serve the connections",
			 shown[THREADS], shown[EVENT_LOOP]);
	else if (shown[CONNECTIONS] != NULL)
		snprintf(text, sizeof(text),
			 "yes: it has threads (%s) that wait for connections "
			 "(%s)",
			 shown[THREADS], shown[CONNECTIONS]);
	else if (shown[EACH_OTHER] != NULL)
		snprintf(text, sizeof(text),
			 "yes, if it has more threads (%s) than CPUs: they "
			 "wait for each other (%s)",
			 shown[THREADS], shown[EACH_OTHER]);
	else
		snprintf(text, sizeof(text),
			 "measure: it has threads (%s), and its calls do not "
			 "show what they wait for",
			 shown[THREADS]);
	return text;
}
