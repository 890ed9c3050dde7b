/* SPDX-License-Identifier: MIT */
/*
 * libdw turns the rules of a function into expressions. The common ones are
 * kept in a short form: the rules of an instruction are used for each thread
 * that is there.
 */
#include "rules.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "expression.h"

/* CFA + offset, of which the last operation says whether it is an address. */
static bool is_cfa_plus(const Dwarf_Op *ops, size_t nr, struct wf_see_rule *r)
{
	bool is_value = nr > 0 && ops[nr - 1].atom == DW_OP_stack_value;

	nr -= is_value;
	if (nr < 1 || nr > 2 || ops[0].atom != DW_OP_call_frame_cfa ||
	    (nr == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	r->kind = is_value ? WF_SEE_RULE_CFA : WF_SEE_RULE_SAVED;
	r->offset = nr == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

/* libdw keeps an expression of the file, but not the ones that it makes. */
static bool set_expression(const Dwarf_Op *ops, size_t nr, bool is_kept,
			   struct wf_see_rule *r)
{
	if (!is_kept)
		return false;
	r->kind = WF_SEE_RULE_EXPRESSION;
	r->ops = ops;
	r->nr_ops = nr;
	return true;
}

static bool read_register(Dwarf_Frame *frame, int number, struct wf_see_rule *r)
{
	Dwarf_Op room[3], *ops;
	size_t nr;

	*r = (struct wf_see_rule){ 0 };
	if (dwarf_frame_register(frame, number, room, &ops, &nr) != 0)
		return false;
	if (nr == 0) {
		r->kind = ops == NULL ? WF_SEE_RULE_SAME : WF_SEE_RULE_UNKNOWN;
		return true;
	}
	/* A register that is in another one is rare, and so left unknown. */
	if (!is_cfa_plus(ops, nr, r))
		set_expression(ops, nr, ops != room, r);
	return true;
}

static bool read_cfa(Dwarf_Frame *frame, struct wf_see_rules *rules)
{
	Dwarf_Op *ops;
	size_t nr;

	rules->cfa = (struct wf_see_rule){ 0 };
	if (dwarf_frame_cfa(frame, &ops, &nr) != 0 || nr == 0)
		return false;
	if (nr == 1 && ops[0].atom >= DW_OP_breg0 &&
	    ops[0].atom < DW_OP_breg0 + WF_SEE_DWARF_REGISTERS) {
		rules->cfa_register = (uint8_t)(ops[0].atom - DW_OP_breg0);
		rules->cfa.offset = (int64_t)ops[0].number;
	} else if (nr == 1 && ops[0].atom == DW_OP_bregx &&
		   ops[0].number < WF_SEE_DWARF_REGISTERS) {
		rules->cfa_register = (uint8_t)ops[0].number;
		rules->cfa.offset = (int64_t)ops[0].number2;
	} else {
		return set_expression(ops, nr, true, &rules->cfa);
	}
	rules->cfa.kind = WF_SEE_RULE_CFA;
	return true;
}

bool wf_see_rules_read(struct wf_see_object *object, uint64_t address,
		       struct wf_see_rules *ret_rules)
{
	uint64_t at = address - object->bias;
	Dwarf_Frame *frame;
	bool is_there = true;
	int number;

	if (object->cfi == NULL ||
	    dwarf_cfi_addrframe(object->cfi, at, &frame) != 0)
		return false;
	number = dwarf_frame_info(frame, NULL, NULL, &ret_rules->is_signal);
	if (number < 0 || number >= WF_SEE_DWARF_REGISTERS ||
	    !read_cfa(frame, ret_rules))
		is_there = false;
	ret_rules->return_register = (uint8_t)number;
	for (int i = 0; is_there && i < WF_SEE_DWARF_REGISTERS; i++)
		is_there = read_register(frame, i, &ret_rules->of[i]);
	/* An expression of the CFA belongs to libdw, not to the frame. */
	free(frame);
	return is_there;
}

static bool apply(const struct wf_see_rule *rule, int number, uint64_t cfa,
		  struct wf_see_memory *memory, const struct wf_see_cpu *from,
		  uint64_t *ret_value)
{
	switch (rule->kind) {
	case WF_SEE_RULE_SAME:
		*ret_value = from->value[number];
		return (from->known >> number & 1) != 0;
	case WF_SEE_RULE_SAVED:
		return wf_see_memory_word(memory, cfa + (uint64_t)rule->offset,
					  ret_value);
	case WF_SEE_RULE_CFA:
		*ret_value = cfa + (uint64_t)rule->offset;
		return true;
	case WF_SEE_RULE_EXPRESSION:
		return wf_see_expression(rule->ops, rule->nr_ops, &cfa, memory,
					 from, ret_value);
	default:
		return false;
	}
}

static bool find_cfa(const struct wf_see_rules *rules,
		     struct wf_see_memory *memory,
		     const struct wf_see_cpu *from, uint64_t *ret_cfa)
{
	if (rules->cfa.kind == WF_SEE_RULE_EXPRESSION)
		return wf_see_expression(rules->cfa.ops, rules->cfa.nr_ops,
					 NULL, memory, from, ret_cfa);
	*ret_cfa =
		from->value[rules->cfa_register] + (uint64_t)rules->cfa.offset;
	return (from->known >> rules->cfa_register & 1) != 0;
}

bool wf_see_rules_apply(const struct wf_see_rules *rules,
			struct wf_see_memory *memory, struct wf_see_cpu *cpu)
{
	const struct wf_see_cpu from = *cpu;
	uint64_t cfa;

	if (!find_cfa(rules, memory, &from, &cfa))
		return false;
	cpu->known = 0;
	for (int i = 0; i < WF_SEE_DWARF_REGISTERS; i++)
		if (apply(&rules->of[i], i, cfa, memory, &from, &cpu->value[i]))
			cpu->known |= 1U << i;
	/* A saved address that cannot be read is no end of the stack. */
	if (rules->of[rules->return_register].kind != WF_SEE_RULE_UNKNOWN &&
	    (cpu->known >> rules->return_register & 1) == 0)
		return false;
	/* The stack pointer of the caller is the CFA by definition. */
	if ((cpu->known >> WF_SEE_DWARF_RSP & 1) == 0)
		cpu->value[WF_SEE_DWARF_RSP] = cfa;
	cpu->known |= 1U << WF_SEE_DWARF_RSP;
	return true;
}
