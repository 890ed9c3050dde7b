/* SPDX-License-Identifier: MIT */
/*
 * The options of weft: one table for the command, the variables and the help.
 *
 *     struct wf_options o = { 0 };
 *     struct wf_option_fault fault;
 *     char text[WF_OPTION_TEXT_MAX];
 *
 *     if (wf_options_load_env(&o, environ, &fault) < 0) {
 *             wf_option_fault_text(&fault, text);
 *             wf_log("%s", text);
 *     }
 *
 * A row has the field of struct wf_options, the command's long option and the
 * variable. Then it has the kind, the least and the greatest value, the value's
 * name in the help, a description of valid values, and the help. The kinds:
 *
 *   COUNT   decimal digits
 *   SIGNED  as COUNT, or '-' and decimal digits
 *   SIZE    decimal digits and K, M, G (1024-based) or nothing; bytes
 *   TIME    decimal digits and ns, us, ms or s; stored in ns; "0" is off
 *   FLAG    1 or 0; the command's option may omit "=1"
 *   STRING  1 to WF_OPTION_STRING_MAX - 1 bytes, copied
 *   CHOICE  one of the words that the row's value name has, separated by '|';
 *           stored as its number, from 0, the default
 *   SWITCH  as CHOICE; the command's option may omit "=1"
 *
 * No function blocks, allocates, reads a locale or changes errno. So all may be
 * called in a signal handler and before libc is ready.
 */
#ifndef WEFT_BASE_OPTIONS_H
#define WEFT_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_OPTION_STRING_MAX 128
/* The prefix of the names of weft's environment variables. */
#define WF_OPTION_PREFIX "WEFT_"
#define WF_OPTION_TEXT_MAX 512
/* The largest number of VPs. */
#define WF_VPS_MAX 1024

/* clang-format off */
/* field, option, variable, kind, least, greatest, value, accepts, help */
#define WF_OPTIONS_TABLE(X) \
	X(vps, "vps", "WEFT_VPS", COUNT, 1, WF_VPS_MAX, "N", \
	  "a number from 1 to 1024", \
	  "run on N virtual processors; if not given, one for each CPU " \
	  "allowed") \
	X(wait, "wait", "WEFT_WAIT", CHOICE, 0, 0, "adaptive|poll|park", \
	  "adaptive, poll or park", \
	  "how a virtual processor without work waits: poll as long as that " \
	  "has paid before it sleeps, poll always, or sleep at once") \
	X(agents, "agents", "WEFT_AGENTS", COUNT, 1, WF_VPS_MAX, "N", \
	  "a number from 1 to 1024", \
	  "let N virtual processors poll for work at a time while the others " \
	  "sleep; 1 if not given") \
	X(io, "io", "WEFT_IO", CHOICE, 0, 0, "uring|workers|process", \
	  "uring, workers or process", \
	  "the backend that waits for descriptors: the kernel's io_uring, " \
	  "where it is allowed, kernel threads (I/O workers), or processes " \
	  "of their own (I/O servers) for calls that block") \
	X(io_nice, "io-nice", "WEFT_IO_NICE", SIGNED, -20, 19, "N", \
	  "a number from -20 to 19", \
	  "with --io process: nice value of those processes, counted from " \
	  "the program's") \
	X(stack_size, "stack-size", "WEFT_STACK_SIZE", SIZE, \
	  16 << 10, 1ULL << 40, "SIZE", \
	  "a size from 16K to 1024G, such as 64K or 1M", \
	  "stack of threads that ask for none; as without weft if not given") \
	X(preempt_every, "preempt-every", "WEFT_PREEMPT_EVERY", TIME, \
	  10000, 3600ULL * 1000000000, "TIME", \
	  "0 or a time from 10us to 3600s, such as 100us or 2ms", \
	  "for debugging: interrupt every running thread this often") \
	X(stats, "stats", "WEFT_STATS", SWITCH, 0, 0, "0|1|json", \
	  "1, 0 or json", \
	  "print counters to standard error when the program exits, as text " \
	  "or as one line of JSON") \
	X(stats_file, "stats-file", "WEFT_STATS_FILE", STRING, 0, 0, "FILE", \
	  "1 to 127 characters", \
	  "with --stats: append the counters to FILE and not to standard " \
	  "error") \
	X(dump_on, "dump-on", "WEFT_DUMP_ON", CHOICE, 0, 0, \
	  "none|SIGQUIT|SIGUSR1|SIGUSR2|SIGURG|SIGPWR", \
	  "none, SIGQUIT, SIGUSR1, SIGUSR2, SIGURG or SIGPWR", \
	  "take this signal from the program, and at each print the stacks " \
	  "of all threads to standard error, also where ptrace is refused") \
	X(bound, "bound", "WEFT_BOUND", STRING, 0, 0, "PATTERN", \
	  "1 to 127 characters", \
	  "give threads a kernel thread each if the name of the object that " \
	  "holds their start routine contains PATTERN") \
	X(mpi, "mpi", "WEFT_MPI", FLAG, 0, 1, "", \
	  "1 or 0", \
	  "let blocking MPI calls park their thread, in programs with " \
	  "MPI_THREAD_MULTIPLE; all ranks have to run with --mpi") \
	X(no_children, "no-children", "WEFT_NO_CHILDREN", FLAG, 0, 1, "", \
	  "1 or 0", "run the programs that this one executes without weft")
/* clang-format on */

#define WF_OPTION_FIELD_COUNT(name) uint64_t name
#define WF_OPTION_FIELD_SIGNED(name) int64_t name
#define WF_OPTION_FIELD_SIZE(name) uint64_t name
#define WF_OPTION_FIELD_TIME(name) uint64_t name
#define WF_OPTION_FIELD_FLAG(name) bool name
#define WF_OPTION_FIELD_STRING(name) char name[WF_OPTION_STRING_MAX]
#define WF_OPTION_FIELD_CHOICE(name) uint32_t name
#define WF_OPTION_FIELD_SWITCH(name) uint32_t name
#define WF_OPTION_FIELD(name, opt, var, kind, ...) WF_OPTION_FIELD_##kind(name);

/* A field is 0, false or "" if its option is not given. */
struct wf_options {
	WF_OPTIONS_TABLE(WF_OPTION_FIELD)
};

enum wf_option_kind {
	WF_OPTION_COUNT,
	WF_OPTION_SIGNED,
	WF_OPTION_SIZE,
	WF_OPTION_TIME,
	WF_OPTION_FLAG,
	WF_OPTION_STRING,
	WF_OPTION_CHOICE,
	WF_OPTION_SWITCH,
};

/* Values of the option wait, in the order of its row's words. */
enum wf_wait_policy {
	WF_WAIT_ADAPTIVE = 0,
	WF_WAIT_POLL,
	WF_WAIT_PARK,
};

/* Values of the option io. */
enum wf_io_backend {
	WF_IO_URING = 0,
	WF_IO_WORKERS,
	WF_IO_PROCESS,
};

/* Values of the option stats. */
enum wf_stats_form {
	WF_STATS_NONE = 0,
	WF_STATS_TEXT,
	WF_STATS_JSON,
};

/* Values of the option dump_on. */
enum wf_dump_signal {
	WF_DUMP_ON_NONE = 0,
	WF_DUMP_ON_QUIT,
	WF_DUMP_ON_USR1,
	WF_DUMP_ON_USR2,
	WF_DUMP_ON_URG,
	WF_DUMP_ON_PWR,
};

/*
 * The variable with the path of the weft command, which the command sets for
 * the library. It is no option.
 */
#define WF_OPTION_COMMAND "WEFT_COMMAND"

struct wf_option_row {
	const char *option; /* without the dashes */
	const char *variable;
	enum wf_option_kind kind;
	uint64_t least, greatest; /* SIGNED: in two's complement */
	const char *value;	  /* the value's name in the help */
	const char *accepts;
	const char *help;
	size_t offset; /* of the field in struct wf_options */
};

/*
 * The options of the process. boot/ writes them before there is a second
 * thread.
 */
extern struct wf_options wf_options;

/* A row's number is its index. */
extern const struct wf_option_row wf_option_rows[];
extern const size_t wf_nr_options;

/*
 * Parses `value` by the row's kind and stores it. Returns 0, or with *o
 * unchanged -EINVAL (bad form) or -ERANGE (outside the row's limits).
 */
int wf_option_set(struct wf_options *o, size_t row, const char *value);

/*
 * The new name of a renamed value. wf_option_set takes the old name for one
 * release. NULL: `value` was not renamed.
 */
const char *wf_option_new_value(const struct wf_option_row *row,
				const char *value);

/* A wrong variable. The strings are in the environment. */
struct wf_option_fault {
	const char *name; /* name_len bytes, then '=' */
	size_t name_len;
	const char *value;
	const struct wf_option_row *row; /* NULL: weft has no such variable */
};

/*
 * Reads the table's variables from envp. Returns 0, or an error with *o
 * unchanged and the wrong variable in *ret_fault: as wf_option_set, or -ENOENT
 * for an unknown name that is close to one in the table.
 */
int wf_options_load_env(struct wf_options *o, char *const *envp,
			struct wf_option_fault *ret_fault);

/*
 * Finds the next unknown variable with WF_OPTION_PREFIX, from *envp on, and
 * moves *envp behind it. False: there is none. Such a variable need not be an
 * error: Kubernetes makes some for a service called weft.
 */
bool wf_option_unknown(char *const **envp, struct wf_option_fault *ret_fault);

/*
 * Finds the next variable with a renamed value, from *row on, and moves *row
 * behind it. Returns the new name, or NULL: there is none.
 */
const char *wf_options_next_renamed(size_t *row, char *const *envp,
				    struct wf_option_fault *ret_variable);

/*
 * Writes one line for the user: the fault, and advice. Too long lines are cut.
 */
void wf_option_fault_text(const struct wf_option_fault *fault,
			  char ret_text[WF_OPTION_TEXT_MAX]);

/*
 * The row with the variable, or the option, that is closest to the name. NULL
 * if none is close enough for a slip.
 */
const struct wf_option_row *wf_option_nearest(const char *name, size_t len,
					      bool is_variable);

#endif
