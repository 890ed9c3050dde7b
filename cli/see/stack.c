/* SPDX-License-Identifier: MIT */
/*
 * STACK-1. The record names the place of the saved registers. The registers and
 *     the stack above them are copied twice, and then the record is read again.
 *     If the copies and the two readings are equal, the thread did not run
 *     meanwhile, and the frames are walked in the copy.
 * STACK-2. Memory outside the copy, as a handler's own stack, is read while the
 *     frames are walked. Then the record is read once more.
 * STACK-3. The copy grows only as far as the walk needs it: most threads wait
 *     in a few KiB of stack.
 * STACK-4. A kernel thread that was stopped runs the thread if its thread
 *     register says so, and the record has no saved registers. In the middle of
 *     a switch it may be on the stack of the next thread already: then the
 *     registers are saved (SWITCH-5).
 */
#include "stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stop.h"
#include "threads.h"

enum { TRIES = 20, FIRST_BYTES = 8 << 10, MOST_BYTES = 2 << 20 };

struct reading {
	struct wf_see_reading base;
	struct wf_see_thread thread; /* as it is now */
	char *copy, *again;
	size_t room;
};

static bool is_live(const struct reading *r)
{
	return r->base.source->pid != 0;
}

static uint64_t peek(const struct reading *r, const struct wf_see_field *field)
{
	return wf_see_peek(r->base.source, r->thread.record, field);
}

/* STACK-1. A wait at the same place of the stack has another generation. */
struct moment {
	uint64_t tid, sp, generation;
};

static struct moment moment_of(const struct reading *r)
{
	const struct wf_see_items *it = r->base.items;

	return (struct moment){ .tid = peek(r, &it->thread_tid),
				.sp = peek(r, &it->thread_sp),
				.generation = peek(r, &it->thread_generation) };
}

static bool is_same(const struct moment *a, const struct moment *b)
{
	return a->tid == b->tid && a->sp == b->sp &&
	       a->generation == b->generation;
}

/* STACK-1. False: the thread ran meanwhile. */
static bool copy_stack(struct reading *r, struct wf_see_memory *memory)
{
	const struct wf_see_source *source = r->base.source;
	struct wf_see_thread *t = &r->thread;
	struct moment before = moment_of(r), after;
	struct wf_arch_registers registers;
	size_t nr;

	if ((int)(int32_t)before.tid != t->tid || before.sp == 0)
		return false;
	wf_see_registers_read(&r->base, before.sp, t);
	registers = t->registers;
	nr = source->read(source, registers.rsp, r->copy, r->room);
	*memory = (struct wf_see_memory){ .start = registers.rsp,
					  .copy = r->copy,
					  .bytes = nr };
	if (!is_live(r))
		return true;
	if (source->read(source, registers.rsp, r->again, nr) != nr ||
	    memcmp(r->copy, r->again, nr) != 0)
		return false;
	wf_see_registers_read(&r->base, before.sp, t);
	after = moment_of(r);
	return is_same(&before, &after) &&
	       memcmp(&registers, &t->registers, sizeof(registers)) == 0;
}

static struct wf_see_cpu cpu_of(const struct wf_see_thread *t)
{
	const struct wf_arch_registers *from = &t->registers;
	struct wf_see_cpu cpu = {
		.value = { [WF_SEE_DWARF_RBX] = from->rbx,
			   [WF_SEE_DWARF_RBP] = from->rbp,
			   [WF_SEE_DWARF_RSP] = from->rsp,
			   [12] = from->r12,
			   [13] = from->r13,
			   [14] = from->r14,
			   [15] = from->r15,
			   [WF_SEE_DWARF_RIP] = from->rip },
		.known = 1U << WF_SEE_DWARF_RBP | 1U << WF_SEE_DWARF_RSP |
			 1U << WF_SEE_DWARF_RIP,
	};

	if (t->registers_from == WF_SEE_REGISTERS_PREEMPTED)
		cpu.known |= 1U << WF_SEE_DWARF_RBX | 0xfU << 12;
	return cpu;
}

static struct wf_see_cpu cpu_of_kernel(const struct user_regs_struct *r)
{
	return (struct wf_see_cpu){
		.value = { r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
			   r->rbp, r->rsp, r->r8, r->r9, r->r10, r->r11, r->r12,
			   r->r13, r->r14, r->r15, r->rip },
		.known = (1U << WF_SEE_DWARF_REGISTERS) - 1,
	};
}

static bool grow(struct reading *r, size_t room)
{
	free(r->copy);
	free(r->again);
	r->copy = malloc(room);
	r->again = malloc(room);
	r->room = room;
	return r->copy != NULL && r->again != NULL;
}

/* Returns 1 if the stack was read, 0 if it changed meanwhile, or -ENOMEM. */
static int try_read(const struct wf_see *see, struct reading *r,
		    struct wf_see_unwinder *unwinder,
		    struct wf_see_stack *stack)
{
	struct wf_see_memory memory;
	struct moment before, after;
	struct wf_see_cpu cpu;

	if (!copy_stack(r, &memory))
		return 0;
	memory.see = see;
	before = moment_of(r);
	cpu = cpu_of(&r->thread);
	stack->nr = wf_see_unwind(unwinder, &memory, &cpu, stack->frames,
				  WF_SEE_MAX_FRAMES, &stack->end);
	if (!memory.was_left || !is_live(r))
		return 1;
	if (memory.bytes == r->room && r->room < MOST_BYTES) /* STACK-3 */
		return grow(r, 4 * r->room) ? 0 : -ENOMEM;
	after = moment_of(r); /* STACK-2 */
	return before.sp == r->thread.saved_sp && is_same(&before, &after);
}

/* A new thread is at its start routine, and one that has ended nowhere. */
static void set_entry(const struct wf_see_thread *t, struct wf_see_stack *stack)
{
	*stack->frames = (struct wf_see_frame){ .address = t->start };
	stack->nr = t->start != 0 && t->state != WF_SEE_EXITED;
	stack->end = WF_SEE_END_WHOLE;
}

static void walk_running(const struct wf_see *see, struct reading *r,
			 const struct user_regs_struct *registers,
			 struct wf_see_unwinder *unwinder,
			 struct wf_see_stack *stack)
{
	struct wf_see_memory memory = { .see = see,
					.copy = r->copy,
					.start = registers->rsp };
	struct wf_see_cpu cpu = cpu_of_kernel(registers);

	memory.bytes = r->base.source->read(r->base.source, memory.start,
					    r->copy, r->room);
	stack->nr = wf_see_unwind(unwinder, &memory, &cpu, stack->frames,
				  WF_SEE_MAX_FRAMES, &stack->end);
}

/* STACK-4. Returns as try_read. */
static int try_running(const struct wf_see *see, struct reading *r,
		       struct wf_see_unwinder *unwinder,
		       struct wf_see_stack *stack)
{
	struct wf_see_stopped stopped;
	bool is_it;

	if (r->thread.carrier_tid <= 0 ||
	    !wf_see_stop(wf_see_outer_tid(r->base.source,
					  r->thread.carrier_tid),
			 &stopped))
		return 0;
	is_it = stopped.registers.fs_base == r->thread.pthread &&
		peek(r, &r->base.items->thread_sp) == 0;
	if (is_it)
		walk_running(see, r, &stopped.registers, unwinder, stack);
	wf_see_go_on(&stopped);
	return is_it;
}

/* A thread that ran when the core was made. Returns 1. */
static int read_kernel(const struct wf_see *see, struct reading *r,
		       struct wf_see_unwinder *unwinder,
		       struct wf_see_stack *stack)
{
	const struct wf_see_kernel_thread *k =
		wf_see_kernel_thread_of(r->base.source, r->thread.pthread);

	if (k != NULL)
		walk_running(see, r, &k->registers, unwinder, stack);
	return 1;
}

/* Returns as try_read. */
static int try_any(const struct wf_see *see, struct reading *r,
		   struct wf_see_unwinder *unwinder, bool may_stop,
		   struct wf_see_stack *stack)
{
	if (r->thread.registers_from == WF_SEE_REGISTERS_ENTRY ||
	    r->thread.state == WF_SEE_EXITED) {
		set_entry(&r->thread, stack);
		return 1;
	}
	if (r->thread.registers_from == WF_SEE_REGISTERS_KERNEL)
		return read_kernel(see, r, unwinder, stack);
	if (r->thread.registers_from != WF_SEE_REGISTERS_NONE)
		return try_read(see, r, unwinder, stack);
	stack->end = WF_SEE_END_RUNS;
	return may_stop && is_live(r) ? try_running(see, r, unwinder, stack) :
					1;
}

int wf_see_stack_read(const struct wf_see *see,
		      struct wf_see_unwinder *unwinder,
		      const struct wf_see_thread *thread, bool may_stop,
		      struct wf_see_stack *ret_stack)
{
	struct reading r = { .thread = *thread };
	enum wf_see_end end = WF_SEE_END_TORN;
	bool has_ended = false;
	int done = 0;

	if (wf_see_begin(see, &r.base) < 0 || !grow(&r, FIRST_BYTES))
		done = -ENOMEM;
	for (int i = 0; i < TRIES && done == 0; i++) {
		ret_stack->nr = 0;
		has_ended = i > 0 && !wf_see_thread_again(&r.base, &r.thread);
		if (has_ended)
			break;
		done = try_any(see, &r, unwinder, may_stop, ret_stack);
		if (r.thread.registers_from == WF_SEE_REGISTERS_NONE)
			end = WF_SEE_END_RUNS;
	}
	if (done == 0) {
		ret_stack->nr = 0;
		ret_stack->end = end;
	}
	free(r.copy);
	free(r.again);
	return done < 0 ? done : has_ended;
}
