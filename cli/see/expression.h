/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions, as call frame information has them.
 *
 *     wf_see_expression(ops, nr, &cfa, memory, &cpu, &value)
 */
#ifndef WEFT_CLI_SEE_EXPRESSION_H
#define WEFT_CLI_SEE_EXPRESSION_H

#include "unwind.h"

/*
 * cfa: NULL if the expression defines the CFA, and so is a value. Otherwise it
 * is the address of the value, unless DW_OP_stack_value ends it. False: an
 * unknown operation, register or address.
 */
bool wf_see_expression(const Dwarf_Op *ops, size_t nr, const uint64_t *cfa,
		       struct wf_see_memory *memory,
		       const struct wf_see_cpu *cpu, uint64_t *ret_value);

#endif
