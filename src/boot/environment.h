/* SPDX-License-Identifier: MIT */
/*
 * Restores the environment to the layout in which the kernel has passed it.
 *
 *     wf_environment_restore(argv, envp);	in a constructor
 */
#ifndef WEFT_BOOT_ENVIRONMENT_H
#define WEFT_BOOT_ENVIRONMENT_H

/*
 * ld.so of glibc before 2.39 puts a copy of GLIBC_TUNABLES into envp. Programs
 * that change their title expect envp's strings to lie one behind the other.
 * Some programs free a string that lies elsewhere. So this function puts the
 * original string back in place of the copy. Call it with main's argv and envp
 * before anything else changes them.
 */
void wf_environment_restore(char **argv, char **envp);

#endif
