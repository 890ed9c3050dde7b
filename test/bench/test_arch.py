# SPDX-License-Identifier: MIT
"""The emulated machines of papers/arch. No machine is started here: the tests
read stored output."""

import io
import time

import pytest

from arch_results import ARCH
from bench.papers.arch import (cpio, emulator, machines, measuring, output,
                               rows, systems)
from bench.papers.report import page, records
from bench.papers.report.cells import Cells
from bench.papers.report.sections import arch as section
from tools.debian_packages import Skipped

# From the serial line of an emulated Malta. The second line begins with a
# kernel message.
CONSOLE = """\
[    1.907267] Problem parsing in-kernel X.509 certificate list\r
[    2.1] random: crng@ready 6.1.0-50-5kc-malta mips64\r
@out mutex 1563\r
@out \r
@calls 1500\r
[    9.5] sched: something @out of this kind 4\r
@end 0\r
@out late line\r
@end late\r
"""

MIPS_LOG = """\
mips_cpu_do_interrupt enter: PC 0000000000001000 EPC 0000000000002000 syscall \
exception
mips_cpu_do_interrupt: PC ffffffff80000180 EPC 0000000000001000 cause 8
    S 0040a4f3 C 00808020 A 0000000000000000 D 0000000000000000
mips_cpu_do_interrupt: PC ffffffff80000180 EPC 0000000000001004 cause 10
    S 0040a4f3 C 00808028 A 0000000000000000 D 0000000000000000
mips_cpu_do_interrupt: PC ffffffff80000180 EPC 0000000000001004 cause 10
mips_cpu_do_interrupt: PC ffffffff80000000 EPC 0000000000001008 cause 2
"""

ARM_LOG = """\
Taking exception 2 [SVC] on CPU 0
...from EL0 to EL1
...with ESR 0x15/0x56000000
...with SPSR 0x80001000
...with ELR 0xffff8b2c4e14
...to EL1 PC 0xffffd0a0a8a11400 PSTATE 0x3c5
Taking exception 5 [IRQ] on CPU 0
...from EL1 to EL1
...with ESR 0x15/0x56000000
...with ELR 0xffffd0a0a9a00000
Exception return from AArch64 EL1 to AArch64 EL0 PC 0xffff8b2c4e14
Taking exception 4 [Data Abort] on CPU 0
...from EL0 to EL1
...with ESR 0x24/0x9200004f
...with FAR 0xffff8b2c4000
"""

RISCV_LOG = """\
riscv_cpu_do_interrupt: hart:0, async:0, cause:0000000000000008, \
epc:0x00007fff, tval:0x0, desc=user_ecall
riscv_cpu_do_interrupt: hart:0, async:1, cause:0000000000000005, \
epc:0x00007fff, tval:0x0, desc=s_timer
riscv_cpu_do_interrupt: hart:0, async:0, cause:000000000000000d, \
epc:0x00007fff, tval:0x0, desc=load_page_fault
riscv_cpu_do_interrupt: hart:0, async:0, cause:0000000000000009, \
epc:0x00007fff, tval:0x0, desc=supervisor_ecall
"""


def test_the_guests_answers_are_read():
    lines = CONSOLE.split("\n")
    assert output.ready(lines) == ("6.1.0-50-5kc-malta", "mips64")
    assert output.ready(lines[:1]) is None
    answer = output.answer(lines)
    assert (answer.status, answer.lines, answer.calls) == (
        0, ("mutex 1563", "", "of this kind 4"), 1500)
    assert output.answer(lines[:6]) is None
    assert output.answer(lines[7:]) == output.Answer(output.LATE,
                                                     ("late line",))
    assert output.failed(["x", "@failed /dev: no such device\r"]) == \
        "/dev: no such device"
    assert output.failed(lines) == ""


def test_figures_and_reasons():
    good = output.Answer(0, ("a message", "mutex 64.1"))
    assert measuring.figure(good) == 64.1
    for status, lines, why in (
            (77, ("impossible: no wrfsbase",), "no wrfsbase"),
            (output.LATE, ("mutex 1",), "no end after"),
            (139, ("mutex 1",), "status 139"),
            (0, (), "status 0"), (0, ("mutex",), "status 0")):
        with pytest.raises(measuring.Failed, match=why):
            measuring.figure(output.Answer(status, lines))


@pytest.mark.parametrize("machine, log, kinds", [
    ("mips64el", MIPS_LOG, {"call": 1, "emulated": 2, "fault": 1}),
    ("aarch64", ARM_LOG, {"call": 1, "interrupt": 1, "fault": 1}),
    ("riscv64", RISCV_LOG, {"call": 1, "interrupt": 1, "fault": 1,
                            "firmware": 1})])
def test_interrupts_are_counted_by_kind(machine, log, kinds):
    found = output.interrupts(machine, log)
    assert set(found) == set(output.KINDS)
    assert {kind: nr for kind, nr in found.items() if nr} == kinds
    assert not any(output.interrupts(machine, "").values())


def test_one_machine_has_no_interrupts_of_interest():
    assert output.interrupts("x86-64", MIPS_LOG) is None


class Machine:
    """Stands for an emulator: an operation takes 30 instructions, 2 calls and
    2 emulated instructions; a program's start takes more of the latter two."""

    class ready:
        machine = machines.named("mips64el")

    def __init__(self, limit_s):
        self.is_stopped = False

    def __enter__(self):
        self.kernel, self.cpu, self.boot_s = "6.1", "mips64", 1
        return self

    def stop(self):
        self.is_stopped = True

    def run(self, words, environment, limit_s):
        ns = 2000
        if "BENCH_OPS" in environment:
            ns = emulator.NS_OF_INSTRUCTION * 30
        return output.Answer(0, (f"figure {ns}",))

    def count(self, words, environment, limit_s):
        nr = environment["BENCH_OPS"]
        return (output.Answer(0, ("figure 1",), 2 * nr + 50),
                MIPS_LOG * nr + MIPS_LOG * 7)


def test_the_two_passes():
    timed, counted = measuring.new_cells(rows.SIDES), {}
    one = measuring.Pass(Machine, time.monotonic() + 60)
    measuring.times(one, timed, 3, 10)
    for (row, side), cell in timed.items():
        wanted = 2000 / row.divisor if row.is_timed else None
        assert cell.as_json()["median"] == wanted and not cell.why
        counted[row, side] = measuring.Cell()
    measuring.counts(one, counted)
    for (row, side), cell in counted.items():
        assert cell.instructions == 30 and not cell.why
        if row.is_counted:
            assert cell.kinds["call"] == 2 and cell.kinds["emulated"] == 2
        else:
            assert cell.kinds is None
    assert one.about == {"kernel": "6.1", "cpu": "mips64", "boot_s": 1}


def test_a_machine_that_ends_is_started_again_and_not_for_ever():
    class Ends(Machine):
        def run(self, *_):
            raise emulator.Ended("the emulator ended: panic")

    cells = measuring.new_cells(rows.SIDES)
    one = measuring.Pass(Ends, time.monotonic() + 60)
    measuring.times(one, cells, 2, 10)
    whys = [cell.why for (row, _), cell in cells.items() if row.is_timed]
    assert whys[:3] == ["the emulator ended: panic"] * 3
    assert set(whys[3:]) == {"the machine had to be started too often"}


def test_no_time_left_is_a_reason():
    cells = measuring.new_cells(rows.SIDES)
    measuring.counts(measuring.Pass(Machine, time.monotonic() - 1), cells)
    assert {cell.why for cell in cells.values()} == {measuring.NO_TIME}


def test_the_kernel_reads_the_archives():
    data = cpio.archive({"init": b"abc", "lib/deep/libc.so.6": b"x" * 5})
    file, names = io.BytesIO(data), {}
    while True:
        head = file.read(110)
        assert head[:6] == b"070701"
        fields = [int(head[6 + 8 * nr:14 + 8 * nr], 16) for nr in range(13)]
        name = file.read(fields[11])[:-1].decode()
        file.read(-(110 + fields[11]) % 4)
        if name == cpio.END:
            break
        names[name] = (oct(fields[1]), file.read(fields[6]))
        file.read(-fields[6] % 4)
    assert names["lib/deep/libc.so.6"] == ("0o100755", b"xxxxx")
    assert names["init"][1] == b"abc"
    assert list(names).index("lib") < list(names).index("lib/deep")
    assert names["dev/console"][0] == "0o20600"


def test_the_doctor_tells_the_versions():
    assert systems.doctor(
        ["kernel            Linux 6.12.1 on x86_64",
         "C library         glibc 2.41", "x"]) == ("6.12.1", "glibc 2.41")
    assert systems.doctor([]) == ("", "")


class Runs:
    """Stands for a machine: {program: (status, lines)} natively, and on weft
    with "weft" before it."""

    def __init__(self, answers):
        self.answers = answers

    def run(self, words, limit_s):
        name = words[-1].rpartition("_")[2]
        status, lines = self.answers[name, "run" in words]
        return output.Answer(status, lines)


def test_cases_that_fail_on_weft_only_are_named(monkeypatch):
    monkeypatch.setattr(systems, "TESTS", ("sem", "fork"))
    answers = {("sem", False): (1, ("ok a", "ok b", "failed named: 0x100")),
               ("sem", True): (1, ("ok a", "failed b: 0x100")),
               ("fork", False): (0, ("ok c",)), ("fork", True): (0, ("ok c",))}
    later = time.monotonic() + 60
    assert systems.run_tests(Runs(answers), "weft", "/bin", later) == (
        {"sem": 2, "fork": 1}, ["sem:b"])
    answers["fork", True] = (127, ("no such library",))
    with pytest.raises(Skipped, match="no such library"):
        systems.run_tests(Runs(answers), "weft", "/bin", later)
    with pytest.raises(Skipped, match="too short"):
        systems.run_tests(Runs(answers), "weft", "/bin", later - 120)


# --- the page -----------------------------------------------------------------

@pytest.fixture
def cells():
    return Cells(records.of("arch", ARCH)[0], "arch")


def test_records(cells):
    row = "mips64el, self look-up"
    assert cells.get(row, "NPTL").value == 150
    assert cells.get(row + ", instructions", "NPTL").value == 40
    assert cells.get(row + ", emulated instructions", "NPTL").value == 1
    assert cells.get(row, "weft").why == "no port yet"
    assert "x86-64, self look-up, emulated instructions" not in cells.rows()
    assert cells.get("mips64el, create", "LinuxThreads").why == \
        "no end after <20> s"
    assert cells.get("mips64el, create, instructions", "LinuxThreads").why == \
        "the emulator ended"
    assert cells.get("this machine, user-level switch, instruction",
                     "NPTL").why == "no wrfsbase"
    assert cells.get("weft on trixie: Linux 6.12.1, glibc 2.41",
                     "weft").value == 17


def test_the_explanations_are_found(cells):
    found = " ".join(section.section(cells, page.Section).found)
    assert "self look-up of NPTL's executes 1.00 instructions" in found
    assert "stack pointer executes 0.00" in found
    assert "takes 31 instructions" in found
    assert "mips64el over x86-64: 8.00 times" in found
    assert "semaphore that wakes 1.00, NPTL's semaphore call 0.00" in found
    assert "by arch_prctl, over wrfsbase, on this machine: 18.6 times" in found


def test_the_table_of_systems(cells):
    table = section.systems_table(cells)
    assert table.rows[0] == [
        "trixie: Linux 6.12.1, glibc 2.41", "x86-64", "17 of 18",
        "./dev bench papers/arch --machines --systems trixie"]
    assert table.rows[1][2] == "apt-get failed: no network"
    assert ["any", "aarch64", "no port yet", "-"] in table.rows


def test_no_machine_at_all():
    nothing = {"machines": {"mips64el": {"why": "no network", "rows": {
        "self look-up": {"unit": "ns", "sides": {"NPTL": {
            "samples": [], "median": None, "why": "no network",
            "instructions": None, "kinds": None, "is_timed": True,
            "is_counted": True, "counted_why": "no network"}}}}}}}
    found, why = records.of("arch", nothing)
    assert why is None and {one["why"] for one in found} == {"no network"}
    text = page.build({"records": found, "missing": {}})
    assert "no network" in text
