/* SPDX-License-Identifier: MIT */
#include "expression.h"

#include <dwarf.h>
#include <string.h>

/* Operations that are executed: a jump backwards could go on for ever. */
enum { DEPTH = 64, MAX_STEPS = 1000 };

struct machine {
	uint64_t stack[DEPTH];
	uint32_t nr;
	const uint64_t *cfa;
	struct wf_see_memory *memory;
	const struct wf_see_cpu *cpu;
};

static bool push(struct machine *m, uint64_t value)
{
	if (m->nr == DEPTH)
		return false;
	m->stack[m->nr++] = value;
	return true;
}

static bool push_register(struct machine *m, uint64_t number, uint64_t offset)
{
	return number < WF_SEE_DWARF_REGISTERS &&
	       (m->cpu->known >> number & 1) != 0 &&
	       push(m, m->cpu->value[number] + offset);
}

/* Operations that replace the two uppermost values. */
static bool combine(uint8_t atom, uint64_t a, uint64_t b, uint64_t *ret_value)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (atom) {
	case DW_OP_plus:
		*ret_value = a + b;
		return true;
	case DW_OP_minus:
		*ret_value = a - b;
		return true;
	case DW_OP_mul:
		*ret_value = a * b;
		return true;
	case DW_OP_and:
		*ret_value = a & b;
		return true;
	case DW_OP_or:
		*ret_value = a | b;
		return true;
	case DW_OP_xor:
		*ret_value = a ^ b;
		return true;
	case DW_OP_shl:
		*ret_value = b < 64 ? a << b : 0;
		return true;
	case DW_OP_shr:
		*ret_value = b < 64 ? a >> b : 0;
		return true;
	case DW_OP_shra:
		*ret_value = (uint64_t)(x >> (b < 63 ? b : 63));
		return true;
	case DW_OP_eq:
		*ret_value = x == y;
		return true;
	case DW_OP_ne:
		*ret_value = x != y;
		return true;
	case DW_OP_ge:
		*ret_value = x >= y;
		return true;
	case DW_OP_gt:
		*ret_value = x > y;
		return true;
	case DW_OP_le:
		*ret_value = x <= y;
		return true;
	case DW_OP_lt:
		*ret_value = x < y;
		return true;
	default:
		return false;
	}
}

static bool load(struct machine *m, uint64_t bytes)
{
	uint64_t word;

	if (m->nr == 0 || bytes == 0 || bytes > 8 ||
	    !wf_see_memory_word(m->memory, m->stack[m->nr - 1], &word))
		return false;
	if (bytes < 8)
		word &= (1ULL << 8 * bytes) - 1;
	m->stack[m->nr - 1] = word;
	return true;
}

/* Operations that push a value, or change the uppermost one. */
static bool step_other(struct machine *m, const Dwarf_Op *op)
{
	uint64_t *top = m->nr > 0 ? &m->stack[m->nr - 1] : NULL;

	switch (op->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(m, op->number);
	case DW_OP_bregx:
		return push_register(m, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return m->cfa != NULL && push(m, *m->cfa);
	case DW_OP_deref:
		return load(m, 8);
	case DW_OP_deref_size:
		return load(m, op->number);
	case DW_OP_dup:
		return top != NULL && push(m, *top);
	case DW_OP_over:
		return m->nr >= 2 && push(m, top[-1]);
	case DW_OP_pick:
		return op->number < m->nr &&
		       push(m, m->stack[m->nr - 1 - op->number]);
	case DW_OP_drop:
		return m->nr > 0 && m->nr-- > 0;
	default:
		break;
	}
	if (top == NULL)
		return false;
	switch (op->atom) {
	case DW_OP_plus_uconst:
		*top += op->number;
		return true;
	case DW_OP_neg:
		*top = -*top;
		return true;
	case DW_OP_not:
		*top = ~*top;
		return true;
	default:
		return false;
	}
}

static bool step(struct machine *m, const Dwarf_Op *op)
{
	uint64_t value;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(m, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(m, op->atom - DW_OP_breg0, op->number);
	if (m->nr >= 2 && combine(op->atom, m->stack[m->nr - 2],
				  m->stack[m->nr - 1], &value)) {
		m->stack[--m->nr - 1] = value;
		return true;
	}
	return step_other(m, op);
}

/* The operation that a jump goes to, by its place in the file. */
static bool jump(const Dwarf_Op *ops, size_t nr, size_t from, size_t *ret_to)
{
	/* Three bytes: the operation and the distance behind it. */
	uint64_t offset = ops[from].offset + 3 + ops[from].number;

	for (size_t i = 0; i < nr; i++) {
		if (ops[i].offset != offset)
			continue;
		*ret_to = i;
		return true;
	}
	return false;
}

bool wf_see_expression(const Dwarf_Op *ops, size_t nr, const uint64_t *cfa,
		       struct wf_see_memory *memory,
		       const struct wf_see_cpu *cpu, uint64_t *ret_value)
{
	struct machine m = { .cfa = cfa, .memory = memory, .cpu = cpu };
	bool is_value = cfa == NULL;
	size_t at = 0;

	for (int i = 0; at < nr && i < MAX_STEPS; i++) {
		const Dwarf_Op *op = &ops[at++];

		if (op->atom == DW_OP_stack_value) {
			is_value = true;
			break;
		}
		if (op->atom == DW_OP_skip) {
			if (!jump(ops, nr, at - 1, &at))
				return false;
		} else if (op->atom == DW_OP_bra) {
			if (m.nr == 0 || (m.stack[--m.nr] != 0 &&
					  !jump(ops, nr, at - 1, &at)))
				return false;
		} else if (!step(&m, op)) {
			return false;
		}
	}
	if (m.nr == 0)
		return false;
	*ret_value = m.stack[m.nr - 1];
	return is_value || wf_see_memory_word(memory, *ret_value, ret_value);
}
