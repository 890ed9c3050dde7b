/* SPDX-License-Identifier: MIT */
/* What this machine is called: in ELF headers (e_machine), to the kernel. */
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
