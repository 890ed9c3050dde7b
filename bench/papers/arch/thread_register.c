/* SPDX-License-Identifier: MIT */
/*
 * The register by which a thread finds itself, alone: what it costs to read it
 * and to set it. The second argument says which:
 *
 * nothing      the loop only
 * read         reads it; MIPS has an instruction for this, rdhwr, that CPUs
 *              without such a register lack: there the kernel emulates it
 * set          sets it by an instruction, on x86-64 by wrfsbase
 * set_call     sets it by a system call: arch_prctl, or MIPS's set_thread_area
 * call         getppid(), a system call that does nothing else
 * switch       two contexts on stacks of their own take turns without the
 *              kernel; each switch sets the register by an instruction
 * switch_call  the same, by the system call
 *
 * The value that is set is always the one that the register has: that costs as
 * much as any other.
 */
#include "thread_register.h"

#include "../../micro/bench.h"

enum { STACK_BYTES = 64 << 10 };

static void *mine;
static void *volatile found;

#define LOOP(name, operation)                        \
	static uint64_t name(long *nr_ops)           \
	{                                            \
		uint64_t start_ns = bench_busy_ns(); \
                                                     \
		for (long i = 0; i < *nr_ops; i++) { \
			operation;                   \
		}                                    \
		return bench_busy_ns() - start_ns;   \
	}

LOOP(do_nothing, found = mine)
LOOP(do_read, found = thread_register_read())
LOOP(do_set, found = mine; thread_register_set(mine))
LOOP(do_set_call, found = mine; thread_register_set_call(mine))
LOOP(do_call, found = mine; syscall(SYS_getppid))

#ifdef __x86_64__

/* Saves the callee-saved registers on the stack and continues on another. */
void switch_stacks(void **save_sp, void *load_sp);
__asm__(".text\n"
	".type switch_stacks, @function\n"
	"switch_stacks:\n\t"
	"pushq %rbp\n\t"
	"pushq %rbx\n\t"
	"pushq %r12\n\t"
	"pushq %r13\n\t"
	"pushq %r14\n\t"
	"pushq %r15\n\t"
	"movq %rsp, (%rdi)\n\t"
	"movq %rsi, %rsp\n\t"
	"popq %r15\n\t"
	"popq %r14\n\t"
	"popq %r13\n\t"
	"popq %r12\n\t"
	"popq %rbx\n\t"
	"popq %rbp\n\t"
	"ret\n"
	".size switch_stacks, . - switch_stacks\n");

static void *main_sp, *other_sp;
static _Alignas(16) char other_stack[STACK_BYTES];
static bool is_by_call;

static inline void switch_to(void **save_sp, void *load_sp)
{
	if (is_by_call)
		thread_register_set_call(mine);
	else
		thread_register_set(mine);
	switch_stacks(save_sp, load_sp);
}

static void other(void)
{
	for (;;)
		switch_to(&other_sp, main_sp);
}

static void start_other(void)
{
	/*
	 * Six registers, the address to continue at, and padding that keeps the
	 * stack pointer aligned as after a call.
	 */
	void **sp = (void **)(other_stack + STACK_BYTES) - 8;

	sp[6] = (void *)(uintptr_t)other;
	other_sp = sp;
}

/* Each operation is a switch; the other context makes half of them. */
LOOP(switches, switch_to(&main_sp, other_sp); i++)

static uint64_t do_switch(long *nr_ops)
{
	start_other();
	return switches(nr_ops);
}

static uint64_t do_switch_call(long *nr_ops)
{
	is_by_call = true;
	return do_switch(nr_ops);
}

#define NO_SWITCH NULL
#else
#define do_switch NULL
#define do_switch_call NULL
#define NO_SWITCH "written for x86-64 only"
#endif
#ifndef NO_SET
#define NO_SET NULL
#endif
#ifndef NO_SET_CALL
#define NO_SET_CALL NULL
#endif

static const struct {
	const char *name;
	uint64_t (*run)(long *nr_ops);
	bool sets;
	const char *impossible;
} parts[] = {
	{ "nothing", do_nothing, false, NULL },
	{ "read", do_read, false, NULL },
	{ "set", do_set, true, NO_SET },
	{ "set_call", do_set_call, false, NO_SET_CALL },
	{ "call", do_call, false, NULL },
	{ "switch", do_switch, true, NO_SWITCH },
	{ "switch_call", do_switch_call, false, NO_SWITCH },
};

static void impossible(const char *why)
{
	printf("impossible: %s\n", why);
	exit(77);
}

int main(int argc, char **argv)
{
	const char *wanted = argc > 2 ? argv[2] : "";

	mine = thread_register_read();
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].name, wanted) != 0)
			continue;
		if (parts[i].impossible != NULL)
			impossible(parts[i].impossible);
		if (parts[i].sets && !thread_register_has_set())
			impossible("the CPU or the kernel has no wrfsbase");
		bench_measure(argc, argv, wanted, parts[i].run);
		return 0;
	}
	fprintf(stderr,
		"usage: %s PERCENT nothing|read|set|set_call|call|switch|"
		"switch_call\n",
		argv[0]);
	return 2;
}
