/* SPDX-License-Identifier: MIT */
/*
 * How the caller's registers are found from an instruction: the rules of the
 * call frame information.
 *
 *     if (wf_see_rules_read(object, address, &rules) &&
 *         wf_see_rules_apply(&rules, memory, &cpu))
 *             address = cpu.value[WF_SEE_DWARF_RIP];
 */
#ifndef WEFT_CLI_SEE_RULES_H
#define WEFT_CLI_SEE_RULES_H

#include "unwind.h"

struct wf_see_rule {
	enum {
		WF_SEE_RULE_UNKNOWN, /* not saved: lost */
		WF_SEE_RULE_SAME,
		WF_SEE_RULE_SAVED, /* at CFA + offset */
		WF_SEE_RULE_CFA,   /* is CFA + offset */
		WF_SEE_RULE_EXPRESSION,
	} kind;
	int64_t offset;
	const Dwarf_Op *ops;
	size_t nr_ops;
};

struct wf_see_rules {
	bool is_signal; /* the frame of a handler: all registers are in it */
	uint8_t return_register;
	uint8_t cfa_register; /* of CFA = register + offset */
	struct wf_see_rule cfa;
	struct wf_see_rule of[WF_SEE_DWARF_REGISTERS];
};

/* False: the object has none for the address. */
bool wf_see_rules_read(struct wf_see_object *object, uint64_t address,
		       struct wf_see_rules *ret_rules);
/*
 * Makes the registers those of the caller. False: they cannot be found. A
 * return address that is not known stays unknown: there is no caller.
 */
bool wf_see_rules_apply(const struct wf_see_rules *rules,
			struct wf_see_memory *memory, struct wf_see_cpu *cpu);

#endif
