/* SPDX-License-Identifier: MIT */
/* A library that asks for stacks where code may be executed. */
int stack_code_asked;
