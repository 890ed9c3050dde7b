/* SPDX-License-Identifier: MIT */
/*
 * Runs before main: fills tables and registers the first thread, and does
 * nothing else. The library is linked with -z initfirst, so this constructor
 * runs before all others. If a program calls an interposed function even
 * earlier, as sanitizers do, that call makes the initialisation. The process
 * has one thread then.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "base/log.h"
#include "base/options.h"
#include "boot/boot.h"
#include "boot/children.h"
#include "boot/environment.h"
#include "libc/elf.h"
#include "libc/layout.h"
#include "libc/real.h"
#include "os/kthread.h"
#include "os/output.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "signal/action.h"
#include "signal/dump_signal.h"
#include "thread/thread_count.h"
#include "thread/main_exit.h"

/*
 * The status with which env(1) and nice(1) report that they have failed
 * themselves, not the program.
 */
enum { EXIT_WEFT_FAILED = 125 };

static WF_NORETURN void give_up(void)
{
	for (;;)
		wf_sys(SYS_exit_group, EXIT_WEFT_FAILED);
}

static void fail_without(const char *name)
{
	wf_log("this libc has no %s: weft needs glibc 2.34 or later; run the "
	       "program without weft",
	       name);
	give_up();
}

static void load_options(char **envp)
{
	static bool is_done;
	struct wf_option_fault fault;
	char text[WF_OPTION_TEXT_MAX];
	const char *new_value;
	size_t row = 0;

	if (is_done || envp == NULL)
		return;
	is_done = true;

	if (wf_options_load_env(&wf_options, envp, &fault) < 0) {
		wf_option_fault_text(&fault, text);
		wf_log("%s", text);
		give_up();
	}
	while ((new_value = wf_options_next_renamed(&row, envp, &fault)) !=
	       NULL)
		wf_log("%s=%s is now %s=%s", fault.row->variable, fault.value,
		       fault.row->variable, new_value);
}

void wf_boot_init(void)
{
	static bool is_done;
	const char *missing;
	struct wf_thread *first;

	if (is_done)
		return;
	is_done = true;
	missing = wf_real_init();
	if (missing == NULL)
		missing = wf_libc_layout_init();
	if (missing != NULL)
		fail_without(missing);
	load_options(wf_elf_environment());
	if (wf_table_init() < 0) {
		wf_log("cannot reserve address space for threads; raise the "
		       "limit on virtual memory (ulimit -v)");
		give_up();
	}
	first = wf_runtime_attach_first();
	first->sigmask = wf_os_get_signal_mask();
	wf_sys(SYS_prctl, PR_GET_NAME, first->name);
	wf_thread_count_reset();
	wf_boot_register_fork();
}

/* ld.so passes constructors the arguments of main. */
__attribute__((constructor)) static void init(int argc, char **argv,
					      char **envp)
{
	wf_boot_init();
	wf_environment_restore(argv, envp);
	wf_boot_end_register();
	load_options(envp);
	wf_os_stderr_init();
	wf_dump_signal_init(envp);
	wf_actions_take_dump_signal();
	/* Done here, as ThreadSanitizer may execute the program anew before:
	 * its new environment must still have weft. */
	if (wf_options.no_children || wf_elf_has_thread_sanitizer())
		wf_children_spare_all(envp);
}
