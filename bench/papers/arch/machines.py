# SPDX-License-Identifier: MIT
"""The emulated machines: what emulates them, and what runs on them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Machine:
    """`target`: the prefix of its compiler's name, or "" for this machine's
    own. `kernel`: the package of Debian's `suite` for `architecture`. `loader`:
    the program that loads programs. `packages`: those with the emulator, the
    compiler and libc, all of Debian's suite TOOLS."""
    name: str
    title: str
    emulator: str
    options: tuple
    console: str
    target: str
    loader: str
    suite: str
    architecture: str
    kernel: str
    packages: tuple
    has_register: bool = True


# Debian 12 has qemu 7.2, gcc 12 and libc 2.36.
TOOLS = "bookworm"
MEMORY = ("-m", "512")

ALL = (
    Machine("mips64el", "MIPS64 5KEf (Malta)", "qemu-system-mips64el",
            ("-M", "malta", "-cpu", "5KEf", *MEMORY), "ttyS0",
            "mips64el-linux-gnuabi64-", "/lib64/ld.so.1", "bookworm",
            "mips64el", "linux-image-5kc-malta",
            ("qemu-system-mips", "gcc-12-mips64el-linux-gnuabi64",
             "libc6-dev-mips64el-cross"), has_register=False),
    Machine("aarch64", "Arm Cortex-A72 (virt)", "qemu-system-aarch64",
            ("-M", "virt", "-cpu", "cortex-a72", *MEMORY), "ttyAMA0",
            "aarch64-linux-gnu-", "/lib/ld-linux-aarch64.so.1", "bookworm",
            "arm64", "linux-image-arm64",
            ("qemu-system-arm", "gcc-12-aarch64-linux-gnu",
             "libc6-dev-arm64-cross")),
    Machine("riscv64", "RISC-V rv64gc (virt)", "qemu-system-riscv64",
            ("-M", "virt", "-cpu", "rv64", *MEMORY), "ttyS0",
            "riscv64-linux-gnu-", "/lib/ld-linux-riscv64-lp64d.so.1",
            "trixie", "riscv64", "linux-image-riscv64",
            ("qemu-system-misc", "opensbi", "gcc-12-riscv64-linux-gnu",
             "libc6-dev-riscv64-cross")),
    Machine("x86-64", "x86-64 with wrfsbase (pc)", "qemu-system-x86_64",
            ("-M", "pc", "-cpu", "max", *MEMORY), "ttyS0",
            "", "/lib64/ld-linux-x86-64.so.2", "bookworm", "amd64",
            "linux-image-amd64", ("qemu-system-x86", "seabios")),
)


def named(name):
    return next(machine for machine in ALL if machine.name == name)
