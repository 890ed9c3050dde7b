/* SPDX-License-Identifier: MIT */
/*
 * An access to memory of a file that was shrunk raises SIGBUS. A handler maps
 * private zero pages over the whole queue, and the access succeeds. In a queue
 * in use no slot word is zero, except that of position 0. So calls read values
 * that no honest peer writes, and return -EPROTO. Calls that wait check is_cut.
 *
 * GUARD-1. The range is set before the queue is accessed and cleared before it
 *     is unmapped. So a fault at an address in a set range is a fault in that
 *     queue. An earlier queue at the same address was cleared before.
 * GUARD-2. The range's two words are not written at one time: the handler reads
 *     the begin again after the size.
 * GUARD-3. Other faults go to the handler that was set before.
 *
 * Rejected: seals, which tmpfs files cannot have. Rejected: a memfd with a
 * name. A process would have to exist as long as the name, and only its own
 * user could open the memory through its /proc. Rejected: to jump out of the
 * access. Each call would have to save its registers first, and a program that
 * reads a message in place is not in a call.
 */
#include "ipc/guard.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "os/sys.h"

static struct sigaction before; /* the handler set before ours: GUARD-3 */

/*
 * Replaces the memory at `at` if it is in c's range. Returns true if the access
 * can be repeated.
 */
static bool mend(struct weft_channel *c, uintptr_t at)
{
	/* acquire: the size of the range; pairs with the release in
	 * wf_guard_begin. */
	void *begin = wf_load_acquire(&c->guarded);
	uint64_t bytes = wf_load_acquire(&c->guarded_bytes);

	if (begin == NULL || at < (uintptr_t)begin ||
	    at - (uintptr_t)begin >= bytes ||
	    /* GUARD-2: reads the begin again */
	    wf_load_relaxed(&c->guarded) != begin)
		return false;
	wf_store_relaxed(&c->is_cut, true);
	return wf_sys(SYS_mmap, begin, bytes, PROT_READ | PROT_WRITE,
		      MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0) == (long)begin;
}

static void pass_on(int sig, siginfo_t *info, void *context)
{
	if ((before.sa_flags & SA_SIGINFO) != 0) {
		before.sa_sigaction(sig, info, context);
	} else if (before.sa_handler != SIG_DFL &&
		   before.sa_handler != SIG_IGN) {
		before.sa_handler(sig);
	} else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
		/*
		 * The access is repeated and ends the process, also if SIGBUS
		 * was ignored.
		 */
		signal(sig, SIG_DFL);
		if (info->si_code <= 0)
			raise(sig);
	}
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	if (info->si_code == BUS_ADRERR) {
		struct weft_channel *c = wf_load_acquire(&wf_channels);

		for (; c != NULL; c = c->next) {
			if (mend(c, (uintptr_t)info->si_addr))
				return;
		}
	}
	pass_on(sig, info, context);
}

static void install(void)
{
	struct sigaction ours;

	sigaction(SIGBUS, NULL, &before);
	ours = before;
	ours.sa_sigaction = on_fault;
	ours.sa_flags &= SA_NODEFER | SA_RESTART;
	ours.sa_flags |= SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGBUS, &ours, NULL);
}

void wf_guard_begin(struct weft_channel *c, uint64_t bytes)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
	wf_store_relaxed(&c->guarded_bytes, bytes);
	/* release: publishes the size of the range; pairs with the acquire in
	 * mend. */
	/* GUARD-1: before the first access */
	wf_store_release(&c->guarded, c->memory);
}

void wf_guard_end(struct weft_channel *c)
{
	wf_store_release(&c->guarded, NULL);
}
