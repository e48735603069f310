"""The doctor's questions, answered from made-up kernels."""

import errno

import pytest

from halftrip.kernel_files import HOST_FILES
from halftrip.telemetry import doctor_single_copy
from halftrip.telemetry.doctor import CHECKS, machine_checks
from halftrip.telemetry.doctor_mpi import components
from halftrip.telemetry.doctor_single_copy import Tried
from harness.seccomp import PROCESS_VM_READV, refusing

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
        ("steal", "proc/stat", "cpu 100 0 100 800 0 0 0 0 0 0\n", "ok", "0.00%"),
        ("steal", "proc/stat", "cpu 100 0 100 700 0 0 0 100 0 0\n", "warning", "10.00%"),
        # A sandbox may have the columns, and count nothing.
        ("steal", "proc/stat", "cpu 0 0 0 0 0 0 0 0 0 0\n", "unknown", "does not say"),
        ("memory", "proc/meminfo", "MemAvailable: 1024 kB\n", "warning", "0.0 GiB"),
        ("transparent huge pages", THP, "always [madvise] never", "ok", "madvise"),
        ("transparent huge pages", THP, "always madvise [never]", "warning", "never"),
        ("container limits", "sys/fs/cgroup/cpu.max", "max 100000", "ok", "max"),
        (
            "container limits",
            "sys/fs/cgroup/cpu.max",
            "15000 100000",
            "warning",
            "this container may use 0.15 of a core (/sys/fs/cgroup): processor 15000 100000",
        ),
        ("network MTU", "sys/class/net/eth0/mtu", "9000", "ok", "eth0 9000"),
    ],
)
def test_each_question_has_its_answer(bare_kernel, allowed, name, path, content, state, found):
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


@pytest.mark.parametrize(
    ("files", "state", "found"),
    [
        # A host with both versions lists the groups of version 1 first.
        (
            {"self": "5:memory:/first\n0::/second\n", "second/cpu.max": "50000 100000"},
            "warning",
            "processor 50000 100000, memory unknown",
        ),
        # The narrowest of several.
        (
            {"self": "0::/a/b", "a/b/cpu.max": "9 9", "a/cpu.max": "1 9"},
            "warning",
            "may use 0.111 of a core (/sys/fs/cgroup/a): processor 1 9, memory unknown",
        ),
        # As much as all cores that are allowed is never used up.
        ({"self": "0::/a", "a/cpu.max": "200000 100000"}, "ok", "200000"),
        # Version 1, in a parent, and without limits.
        (
            {
                "self": "4:memory:/a/b\n1:cpu,cpuacct:/a/b\n0::/\n",
                "cpu/a/b/cpu.cfs_quota_us": "-1",
                "cpu/a/b/cpu.cfs_period_us": "100000",
                "cpu/a/cpu.cfs_quota_us": "100000",
                "cpu/a/cpu.cfs_period_us": "100000",
                "memory/a/memory.limit_in_bytes": "4096000",
            },
            "warning",
            "may use 1 core (/sys/fs/cgroup/cpu/a): processor 100000 100000, memory 4096000",
        ),
        (
            {
                "self": "2:memory:/\n1:cpu:/\n",
                "cpu/cpu.cfs_quota_us": "-1",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": "9223372036854771712",
            },
            "ok",
            "processor max 100000, memory max",
        ),
    ],
)
def test_the_limits_are_the_narrowest_of_all_groups(bare_kernel, allowed, files, state, found):
    for path, content in files.items():
        bare_kernel("proc/self/cgroup" if path == "self" else f"sys/fs/cgroup/{path}", content)
    check = answer(bare_kernel, "container limits")
    assert (check.state, found in check.found) == (state, True)


@pytest.mark.parametrize(
    ("siblings", "state", "found"),
    [({0: 0, 1: 1}, "ok", "2 physical cores"), ({0: 0, 1: 0}, "warning", "one physical core")],
)
def test_physical_cores_are_counted(bare_kernel, allowed, siblings, state, found):
    bare_kernel(f"{CPU}/smt/active", "1")
    for core, physical in siblings.items():
        bare_kernel(f"{CPU}/cpu{core}/topology/core_id", str(physical))
        bare_kernel(f"{CPU}/cpu{core}/topology/physical_package_id", "0")
    check = answer(bare_kernel, "SMT")
    assert (check.state, found in check.found) == (state, True)


@pytest.mark.parametrize(
    ("flags", "stolen", "state"),
    [("hypervisor", 0, "unknown"), ("hypervisor", 1, "ok"), ("fpu", 0, "ok")],
)
def test_a_hypervisor_that_never_counted_steal_may_not_tell_of_it(
    bare_kernel, flags, stolen, state
):
    bare_kernel("proc/cpuinfo", f"flags\t: {flags}\n")
    bare_kernel("proc/stat", f"cpu 100 0 100 800 0 0 0 {stolen} 0 0\n")
    assert answer(bare_kernel, "steal").state == state


@pytest.mark.parametrize(
    ("tried", "scope", "state", "said"),
    [
        (Tried(0, 0, 900000, 800000), None, "ok", ("allowed (tried between two processes): "
         "4 MiB take 0.90 ms, a copy within a process 0.80 ms")),
        # Yama, and MPIs that allow each other.
        (Tried(errno.EPERM, 0), "1", "ok", "let each other"),
        (Tried(errno.EPERM, errno.EPERM), "2", "warning", "ptrace_scope"),
        # A filter of system calls, whatever Yama says.
        (Tried(errno.ENOSYS, errno.ENOSYS, 900, 800000), "0", "warning",
         ("tried: function not implemented; a second copy of 4 MiB takes 0.80 ms MPI has to copy "
         "large messages twice: allow process_vm_readv in this container")),
        (Tried(None, None), "1", "unknown", "could not be tried"),
    ],
)  # fmt: skip
def test_what_was_tried_decides_on_single_copies(tried, scope, state, said):
    check = doctor_single_copy.judge(tried, scope)
    assert check.state == state
    assert said in f"{check.found} {check.advice} {' '.join(check.commands)}"


def test_single_copies_are_tried_here_and_a_filter_that_refuses_them_is_noticed():
    tried = doctor_single_copy.attempt()
    assert tried.at_once in {0, errno.EPERM, errno.ENOSYS}
    assert tried.allowed is not None
    assert tried.single > 0 < tried.copy
    work = "from halftrip.telemetry.doctor_single_copy import check; print(check().state)"
    assert "warning" in refusing(PROCESS_VM_READV, work)


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
