/* SPDX-License-Identifier: MIT */
/*
 * Cancellation has to know whether a thread is about to make a blocking call in
 * glibc's bridge. The bridge has no symbol, so this file searches libc's code
 * for its instructions.
 */
#include "libc/bridge.h"

#include "base/atomic.h"
#include "libc/text.h"

/*
 * The instructions follow from the arguments: (word, nr, a1, ..., a6) as C
 * passes them move to the registers that the kernel expects. Before them the
 * bridge tests the word.
 */
static const uint8_t code[] = {
	0x49, 0x89, 0xfb,	      /* r11 = rdi */
	0x48, 0x89, 0xf0,	      /* rax = rsi */
	0x48, 0x89, 0xd7,	      /* rdi = rdx */
	0x48, 0x89, 0xce,	      /* rsi = rcx */
	0x4c, 0x89, 0xc2,	      /* rdx = r8 */
	0x4d, 0x89, 0xca,	      /* r10 = r9 */
	0x4c, 0x8b, 0x44, 0x24, 0x08, /* r8 = a5 */
	0x4c, 0x8b, 0x4c, 0x24, 0x10, /* r9 = a6 */
	0x4c, 0x89, 0x5c, 0x24, 0x08, /* keeps r11 */
	0x0f, 0x05,		      /* syscall */
};
enum {
	SYSCALL_BYTES = 2,
	BRANCH_BYTES = 6, /* at most, from the test to the code */
};

enum { NOWHERE = 1 }; /* value of site: no bridge, as before glibc 2.41 */

static _Atomic uintptr_t site; /* address of the code; 0: not searched yet */

void wf_bridge_find(void)
{
	uintptr_t found;

	if (wf_load_relaxed(&site) != 0)
		return;
	found = wf_text_find(code, sizeof(code));
	wf_store_relaxed(&site, found != 0 ? found : (uintptr_t)NOWHERE);
}

bool wf_bridge_holds(uintptr_t pc)
{
	uintptr_t begin = wf_load_relaxed(&site);

	return begin > NOWHERE && pc >= begin - BRANCH_BYTES &&
	       pc <= begin + sizeof(code) - SYSCALL_BYTES;
}
