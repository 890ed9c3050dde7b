/* SPDX-License-Identifier: MIT */
/* The environment as the kernel has laid it out. */
#ifndef WEFT_BOOT_ENVIRONMENT_H
#define WEFT_BOOT_ENVIRONMENT_H

/*
 * ld.so of glibc before 2.39 puts a copy of GLIBC_TUNABLES into envp. Programs
 * that change their title look for strings one behind the other there, and some
 * free those that are not. So the string that the copy is of is put back. What
 * main gets, before anything else has changed it.
 */
void wf_environment_restore(char **argv, char **envp);

#endif
