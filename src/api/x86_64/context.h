/* SPDX-License-Identifier: MIT */
/*
 * The parts of user contexts that depend on the processor: the layout of a new
 * context, and the functions between C code and assembly.
 *
 *     wf_context_make(uc, start, args, nr);
 */
#ifndef WEFT_API_X86_64_CONTEXT_H
#define WEFT_API_X86_64_CONTEXT_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The assembly calls these (api/context.c). */
int wf_context_swap(ucontext_t *from, ucontext_t *to);
void wf_context_over(ucontext_t *link);

/* A context's function returns to this address (api/x86_64/context.S). */
void wf_context_end(void);

/*
 * Does what makecontext does, with nr arguments. uc_link is stored above the
 * arguments on the context's stack, and rbx points to it.
 */
static inline void wf_context_make(ucontext_t *uc, void (*start)(void),
				   const long *args, size_t nr)
{
	static const int in_register[] = { REG_RDI, REG_RSI, REG_RDX,
					   REG_RCX, REG_R8,  REG_R9 };
	const size_t nr_registers = 6;
	size_t nr_pushed = nr > nr_registers ? nr - nr_registers : 0;
	greg_t *r = uc->uc_mcontext.gregs;
	uintptr_t top = (uintptr_t)uc->uc_stack.ss_sp + uc->uc_stack.ss_size;
	uintptr_t *sp = (uintptr_t *)((top - 8 * (nr_pushed + 1)) & ~15UL) - 1;

	sp[0] = (uintptr_t)wf_context_end;
	sp[nr_pushed + 1] = (uintptr_t)uc->uc_link;
	for (size_t i = 0; i < nr; i++) {
		if (i < nr_registers)
			r[in_register[i]] = args[i];
		else
			sp[1 + i - nr_registers] = (uintptr_t)args[i];
	}
	r[REG_RIP] = (greg_t)(uintptr_t)start;
	r[REG_RSP] = (greg_t)(uintptr_t)sp;
	r[REG_RBX] = (greg_t)(uintptr_t)&sp[nr_pushed + 1];
}

#endif
