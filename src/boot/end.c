/* SPDX-License-Identifier: MIT */
/*
 * The process's end by exit, quick_exit, _exit, _Exit or a system call.
 *
 * The handler is registered before every other and belongs to no object, so
 * exit runs it after all handlers and destructors. Natively threads run on
 * until then; what it does, they could not tell from the end.
 */
#include <stdlib.h>

#include "boot/boot.h"
#include "io/ring.h"
#include "io/worker.h"

/* Of the C++ ABI; in libc, in no header. */
int __cxa_atexit(void (*handler)(void *), void *arg, void *dso_handle);

/* What keeps files open until a little after the end. */
static void let_go(void)
{
	if (!wf_is_started()) /* nothing, and perhaps a parent's memory */
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

/* Without a handler for want of memory files are let go of a little later. */
void wf_boot_end_register(void)
{
	__cxa_atexit(end_of_exit, NULL, NULL);
	at_quick_exit(let_go);
}
