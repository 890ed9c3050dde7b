/* SPDX-License-Identifier: MIT */
/*
 * The names of this machine: in ELF headers (e_machine), and for the kernel's
 * audit (AUDIT_ARCH).
 *
 *     is_ours = header.e_machine == WF_NATIVE_MACHINE;
 */
#ifndef WEFT_BASE_MACHINE_H
#define WEFT_BASE_MACHINE_H

#include <elf.h>
#include <linux/audit.h>

#if defined(__x86_64__)
#define WF_NATIVE_MACHINE EM_X86_64
#define WF_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define WF_NATIVE_MACHINE EM_AARCH64
#define WF_AUDIT_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define WF_NATIVE_MACHINE EM_RISCV
#define WF_AUDIT_ARCH AUDIT_ARCH_RISCV64
#endif

#endif
