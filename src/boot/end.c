/* SPDX-License-Identifier: MIT */
/*
 * The end of the process by exit, quick_exit, _exit, _Exit or a system call.
 * weft gives up what keeps the program's files open: rings and I/O workers.
 *
 * The handler is registered before every other and belongs to no object, so
 * exit runs it after all handlers and destructors. Natively threads run on
 * until then. They cannot tell the work of the handler from the end of the
 * process.
 */
#include <stdlib.h>

#include "boot/boot.h"
#include "io/backend/ring.h"
#include "io/backend/worker.h"

/* A function of the C++ ABI: glibc has it, but no header declares it. */
int __cxa_atexit(void (*handler)(void *), void *arg, void *dso_handle);

/*
 * Ends rings and I/O workers, which keep the program's files open until a
 * little after the end.
 */
static void let_go(void)
{
	/* there are no rings, and the memory may be a parent's */
	if (!wf_is_started())
		return;
	wf_ring_end();
	wf_worker_end();
}

void wf_boot_end(void)
{
	wf_boot_stats_print();
	let_go();
}

static void end_of_exit(void *arg)
{
	let_go();
}

/*
 * If there is no memory for a handler, the kernel closes the files a little
 * later than natively.
 */
void wf_boot_end_register(void)
{
	__cxa_atexit(end_of_exit, NULL, NULL);
	at_quick_exit(let_go);
}
