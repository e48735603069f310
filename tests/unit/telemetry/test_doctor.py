"""The doctor's questions, answered from made-up kernels."""

import pytest

from halftrip.kernel_files import HOST_FILES
from halftrip.telemetry.doctor import CHECKS, machine_checks
from halftrip.telemetry.doctor_mpi import components

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
THP = "sys/kernel/mm/transparent_hugepage/enabled"


def answer(kernel, name):
    (check,) = [check for check in machine_checks(kernel.reader) if check.name == name]
    return check


@pytest.mark.parametrize(
    ("name", "path", "content", "state", "found"),
    [
        ("clock source", CLOCK, "hpet\n", "warning", "hpet"),
        ("frequency governor", f"{CPU}/cpu0/cpufreq/scaling_governor", "performance", "ok", "perf"),
        ("frequency governor", f"{CPU}/cpu0/cpufreq/scaling_governor", "powersave", "warning", "p"),
        ("turbo", f"{CPU}/intel_pstate/no_turbo", "1", "ok", "off"),
        ("turbo", f"{CPU}/cpufreq/boost", "1", "warning", "on"),
        ("SMT", f"{CPU}/smt/active", "1", "ok", "on"),
        ("isolated cores", f"{CPU}/isolated", "2-3\n", "ok", "2-3"),
        ("isolated cores", f"{CPU}/isolated", "\n", "warning", "none"),
        ("hypervisor", "proc/cpuinfo", "flags\t: fpu hypervisor\n", "warning", "unnamed"),
        ("hypervisor", "proc/cpuinfo", "flags\t: fpu\n", "ok", "none"),
        ("single-copy transfers", "proc/sys/kernel/ostype", "Linux", "ok", "no Yama"),
        ("single-copy transfers", "proc/sys/kernel/yama/other", "1", "unknown", "does not say"),
        ("steal", "proc/stat", "cpu 100 0 100 800 0 0 0 0 0 0\n", "ok", "0.00%"),
        ("steal", "proc/stat", "cpu 100 0 100 700 0 0 0 100 0 0\n", "warning", "10.00%"),
        # A sandbox may have the columns, and count nothing.
        ("steal", "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\n", "unknown", "does not say"),
        ("memory", "proc/meminfo", "MemAvailable: 1024 kB\n", "warning", "0.0 GiB"),
        ("transparent huge pages", THP, "always [madvise] never", "ok", "madvise"),
        ("transparent huge pages", THP, "always madvise [never]", "warning", "never"),
        ("single-copy transfers", "proc/sys/kernel/yama/ptrace_scope", "0", "ok", "allowed"),
        ("single-copy transfers", "proc/sys/kernel/yama/ptrace_scope", "1", "warning", "scope 1"),
        ("container limits", "sys/fs/cgroup/cpu.max", "max 100000", "ok", "max"),
        ("container limits", "sys/fs/cgroup/cpu.max", "50000 100000", "warning", "50000"),
        ("network MTU", "sys/class/net/eth0/mtu", "9000", "ok", "eth0 9000"),
    ],
)
def test_each_question_has_its_answer(bare_kernel, name, path, content, state, found):
    bare_kernel(path, content)
    check = answer(bare_kernel, name)
    assert check.state == state
    assert found in check.found
    assert (check.advice is not None) == (state == "warning")


def test_where_no_file_can_be_read_all_answers_are_unknown(bare_kernel):
    states = {check.name: check.state for check in machine_checks(bare_kernel.reader)}
    # A missing /dev/shm is an answer.
    assert states.pop("/dev/shm") == "warning"
    assert set(states.values()) == {"unknown"}
    (bare_kernel.root / "dev" / "shm").mkdir(parents=True)
    assert "MiB free" in answer(bare_kernel, "/dev/shm").found


def test_turbo_is_off_only_where_every_switch_says_so(bare_kernel):
    for no_turbo, boost, found in (("1", "0", "off"), ("1", "1", "on"), ("0", "0", "on")):
        bare_kernel(f"{CPU}/intel_pstate/no_turbo", no_turbo)
        bare_kernel(f"{CPU}/cpufreq/boost", boost)
        assert answer(bare_kernel, "turbo").found == found


def test_the_limits_are_those_of_the_group_of_version_2(bare_kernel):
    """A host with both versions lists the groups of version 1 first."""
    bare_kernel("proc/self/cgroup", "5:memory:/first\n0::/second\n")
    bare_kernel("sys/fs/cgroup/second/cpu.max", "50000 100000\n")
    assert answer(bare_kernel, "container limits").found == (
        "processor 50000 100000, memory unknown"
    )


@pytest.mark.parametrize("content", ["", "\0\0", "nonsense\n", "cpu a b c d e f g h i\n"])
def test_malformed_files_leave_no_question_without_an_answer(bare_kernel, content):
    for path in ("proc/stat", "proc/meminfo", "proc/cpuinfo", CLOCK, THP, "proc/self/cgroup"):
        bare_kernel(path, content)
    assert len(machine_checks(bare_kernel.reader)) == len(CHECKS)
    checks = machine_checks(HOST_FILES)
    assert len({check.name for check in checks}) == len(CHECKS)
    assert all(check.found for check in checks)


def test_the_components_are_found_in_the_output_of_an_mpi():
    output = """
[vm:1] select: initializing pml component ob1
[vm:1] select: init returned priority 20
[vm:1] selected ob1 best priority 20
[vm:1] select: component ob1 selected
[vm:1] select: init of component self returned success
[vm:1] select: init of component ofi returned failure
[vm:1] select: init of component sm returned success
"""
    assert components(output) == "; pml ob1, btl self sm"
    assert components("MPICH Device:      ch4:ofi\nprovider: tcp;ofi_rxm\n") == (
        "; device ch4:ofi, provider tcp;ofi_rxm"
    )
    assert components("nothing known") == ""
