/* SPDX-License-Identifier: MIT */
/*
 * GCC calls nested functions through a few instructions on the stack of the
 * thread that takes their address. A program or library with nested functions
 * asks for executable stacks. If weft knows that at the start, it makes all
 * stacks executable (libc/text.h). When a library is loaded later, ld.so
 * changes the stacks that it knows, but not weft's. So weft changes a stack
 * when a thread faults on it.
 *
 * Rejected: to check the libraries that dlopen loads. A wrapper of dlopen would
 * become its caller, and change where libraries are searched for.
 */
#include "signal/stack_code.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "arch/arch.h"
#include "os/sys.h"
#include "sched/table.h"

static const char name[] = "[stack]\n";

/* The line of /proc/self/maps that is being read, byte by byte. */
struct line {
	unsigned int nr_spaces;
	bool has_code;
	char tail[sizeof(name) - 1];
};

/*
 * Adds a byte to the line. Returns true at the end of the line of the first
 * thread's stack.
 */
static bool add(struct line *l, char c)
{
	memmove(l->tail, l->tail + 1, sizeof(l->tail) - 1);
	l->tail[sizeof(l->tail) - 1] = c;
	l->nr_spaces += c == ' ';
	l->has_code |= l->nr_spaces == 1 && c == 'x';
	if (c != '\n')
		return false;
	if (memcmp(l->tail, name, sizeof(l->tail)) == 0)
		return true;
	*l = (struct line){ 0 };
	return false;
}

/*
 * True if ld.so has made the first thread's stack executable, as it does when
 * any has to be.
 */
static bool first_has_code(void)
{
	int fd = (int)wf_sys(SYS_openat, AT_FDCWD, "/proc/self/maps",
			     O_RDONLY | O_CLOEXEC);
	struct line l = { 0 };
	bool is_found = false;
	char some[512];
	long n = fd;

	while (n >= 0 && !is_found) {
		n = wf_sys(SYS_read, fd, some, sizeof(some));
		if (n <= 0)
			break;
		for (long i = 0; i < n && !is_found; i++)
			is_found = add(&l, some[i]);
	}
	if (fd >= 0)
		wf_sys(SYS_close, fd);
	return is_found && l.has_code;
}

/*
 * Makes the stack at addr executable; false if addr is on no stack. Two threads
 * may be about to exchange their stacks, but they run no code on these then.
 */
static bool allow(uintptr_t addr)
{
	uint32_t nr = wf_table_high();

	for (uint32_t i = 1; i < nr; i++) {
		if (wf_slot_allow_code(&wf_table_at(i)->slot, addr))
			return true;
	}
	return false;
}

bool wf_stack_code_fixup(const siginfo_t *info, const ucontext_t *uc)
{
	uintptr_t addr = wf_arch_uc_pc(uc);

	if (info->si_signo != SIGSEGV || info->si_code != SEGV_ACCERR ||
	    (uintptr_t)info->si_addr != addr)
		return false;
	if (!wf_load_relaxed(&wf_slots_have_code)) {
		if (!first_has_code())
			return false;
		wf_store_relaxed(&wf_slots_have_code, true);
	}
	return allow(addr);
}
