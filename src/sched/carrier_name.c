/* SPDX-License-Identifier: MIT */
/*
 * Each carrier names its own kernel thread when it gets a VP, becomes a spare
 * or gets a bound thread. It remembers the present name in c->named, so a
 * carrier that keeps its VP makes no system call.
 */
#include "sched/carrier_name.h"

#include "base/log.h"
#include "os/kthread.h"
#include "os/sys.h"

void wf_carrier_name_begin(struct wf_carrier *c)
{
	bool is_first = wf_load_relaxed(&c->tid) == wf_os_getpid();

	c->named = is_first ? WF_NAMED_PROCESS : WF_NAMED_UNKNOWN;
}

void wf_carrier_name_slow(struct wf_carrier *c, uint32_t named,
			  const struct wf_thread *t)
{
	char name[WF_OS_NAME_BYTES];

	if (c->named == WF_NAMED_PROCESS)
		return;
	c->named = named;
	if (named == WF_NAMED_BOUND)
		wf_os_set_thread_name(t->name);
	else if (named == WF_NAMED_SPARE)
		wf_os_set_thread_name("weft-spare");
	else {
		wf_format(name, sizeof(name), "weft-vp%u", named - WF_NAMED_VP);
		wf_os_set_thread_name(name);
	}
}
