"""What on this machine will spoil the numbers: one function for each question.

Each takes a Reader, so that a test can make up any machine, and answers with a Check. An answer
that cannot be read is "unknown", never "ok".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

import msgspec
import psutil

from halftrip.clock import kernel_clock_source
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.telemetry import control_groups, environment
from halftrip.telemetry.load import LOOK_SECONDS, NOT_RUN, Load, look
from halftrip.telemetry.memory import host_memory
from halftrip.telemetry.processors import KINDS, read_processors
from halftrip.telemetry.topology import core_of

CheckState = Literal["ok", "warning", "unknown"]

_CPU = "/sys/devices/system/cpu"
# Free space in /dev/shm that MPI libraries usually need for their segments, bytes.
_SHARED_MEMORY_NEEDED = 64 << 20
_MEMORY_NEEDED = 1 << 30
# With a higher load average, programs waited for cores. After a run whose ranks poll, each on its
# own core, it is at most one for each core.
_LOAD_PER_CORE = 1.5
# With a larger share of steal since boot, other guests compete for these cores.
_STEAL_SHARE = 0.01


class Check(msgspec.Struct, frozen=True):
    """The answer to one question: what was found, and what to do if it is a warning, with the
    `commands` that do it. `load` is what was seen of the cores, where that was the question."""

    name: str
    state: CheckState
    found: str
    advice: str | None = None
    load: Load | None = None
    commands: list[str] = []


def unknown(name: str, why: str = "the kernel does not say") -> Check:
    """The answer to a question that has none here."""
    return Check(name, "unknown", why)


def clock(reader: Reader) -> Check:
    source = kernel_clock_source(reader)
    if not source:
        return unknown("clock source")
    if source in ("tsc", "arch_sys_counter"):
        return Check("clock source", "ok", source)
    return Check(
        "clock source",
        "warning",
        source,
        "the kernel does not use the processor's counter, so neither does halftrip: short "
        "iterations are timed in larger batches; see clocksource= and tsc= of the kernel",
    )


def governor(reader: Reader) -> Check:
    name = environment.governor(0, reader)
    if not name:
        return unknown("frequency governor", "none to choose (a virtual machine, as a rule)")
    if name == "performance":
        return Check("frequency governor", "ok", name)
    advice, command = "the clock rate follows the load", "cpupower frequency-set -g performance"
    return Check("frequency governor", "warning", name, advice, commands=[command])


def turbo(reader: Reader) -> Check:
    # The switches that kernels have, and their values for "off".
    switches = ((f"{_CPU}/intel_pstate/no_turbo", "1"), (f"{_CPU}/cpufreq/boost", "0"))
    found = [(reader.line(path), off) for path, off in switches]
    known = [value == off for value, off in found if value is not None]
    if not known:
        return unknown("turbo")
    if all(known):
        return Check("turbo", "ok", "off")
    return Check(
        "turbo", "warning", "on", "the clock rate depends on heat and neighbours; turn it off"
    )


def smt(reader: Reader) -> Check:
    active = reader.line(f"{_CPU}/smt/active")
    if active is None:
        return unknown("SMT")
    if active == "0":
        return Check("SMT", "ok", "off, or hidden by the hypervisor")
    physical = {core_of(number, reader).physical for number in os.sched_getaffinity(0)}
    if len(physical) > 1:
        found = f"on; {len(physical)} physical cores are allowed, a rank gets one while there are"
        return Check("SMT", "ok", f"{found}; keep their siblings idle")
    return Check(
        "SMT",
        "warning",
        "on; one physical core is allowed, so that two ranks share it",
        "allow another one: taskset, the cpuset of the container, or the launcher's binding",
    )


def isolated(reader: Reader) -> Check:
    cores = reader.line(f"{_CPU}/isolated")
    if cores is None:
        return unknown("isolated cores")
    if cores:
        return Check("isolated cores", "ok", f"{cores}; name them with --cores")
    return Check(
        "isolated cores",
        "warning",
        "none",
        "other processes and the kernel share the timed cores; for tails, boot with isolcpus= and "
        "nohz_full=",
    )


def hypervisor(reader: Reader) -> Check:
    name = environment.hypervisor(reader)
    if name is None:
        return unknown("hypervisor")
    if name == "none":
        return Check("hypervisor", "ok", name)
    return Check(
        "hypervisor",
        "warning",
        name,
        "virtual cores move: compare only rows with the same core-to-core round trip, and runs "
        "taken in turn",
    )


def steal(reader: Reader) -> Check:
    times = read_processors(reader).times.get("all", {})
    total = sum(times.values())
    # Without all kinds the total is unknown.
    if len(times) < len(KINDS) or not total:
        return unknown("steal")
    share = times["steal"] / total
    name = environment.hypervisor(reader)
    if not share and name not in {None, "none"}:
        return unknown("steal", f"none counted since boot: {name} may not tell of it")
    found = f"{share:.2%} of all time since boot"
    if share <= _STEAL_SHARE:
        return Check("steal", "ok", found)
    return Check(
        "steal",
        "warning",
        found,
        NOT_RUN,
    )


def memory(reader: Reader) -> Check:
    available = host_memory(reader)
    if available is None:
        return unknown("memory")
    found = f"{available / (1 << 30):.1f} GiB available"
    if available >= _MEMORY_NEEDED:
        return Check("memory", "ok", found)
    return Check("memory", "warning", found, "large sizes may be refused, or paged out")


def thp(reader: Reader) -> Check:
    mode = environment.thp(reader)
    if mode is None:
        return unknown("transparent huge pages")
    if mode == "never":
        return Check("transparent huge pages", "warning", mode, "--pages huge cannot be measured")
    return Check("transparent huge pages", "ok", mode)


def shared_memory(reader: Reader) -> Check:
    path = reader.root / "dev/shm"
    if not path.is_dir():
        return Check(
            "/dev/shm", "warning", "missing", "MPI falls back to slower ways: mount a tmpfs"
        )
    free = psutil.disk_usage(str(path)).free
    found = f"{free / (1 << 20):,.0f} MiB free"
    if free >= _SHARED_MEMORY_NEEDED:
        return Check("/dev/shm", "ok", found)
    return Check(
        "/dev/shm",
        "warning",
        found,
        "MPI fails or falls back to slower ways: clear it, or --shm-size of the container",
    )


def limits(reader: Reader) -> Check:
    """The limits of this process's control groups, its own and all above it."""
    name = "container limits"
    found = control_groups.limits(reader)
    if found.quota is None and found.memory is None:
        return unknown(name, "no control group limits to be seen")
    said = f"processor {found.quota or 'unknown'}, memory {found.memory or 'unknown'}"
    if found.quota is None:
        return unknown(name, said)
    short = control_groups.shortage(reader, len(os.sched_getaffinity(0)))
    if short is not None:
        advice = "ranks are stopped in their tracks when it is used up: lift the CPU limit"
        return Check(name, "warning", f"{short}: {said}", advice)
    return Check(name, "ok", said)


def interfaces(reader: Reader) -> Check:
    mtus = {}
    for interface in reader.names("/sys/class/net"):
        mtu = reader.number(f"/sys/class/net/{interface}/mtu")
        if mtu is not None:
            mtus[interface] = mtu
    if not mtus:
        return unknown("network MTU")
    found = ", ".join(f"{name} {mtu}" for name, mtu in mtus.items())
    return Check("network MTU", "ok", found)


CHECKS: tuple[Callable[[Reader], Check], ...] = (
    clock,
    governor,
    turbo,
    smt,
    isolated,
    hypervisor,
    steal,
    memory,
    thp,
    shared_memory,
    limits,
    interfaces,
)


def load(reader: Reader = HOST_FILES, seconds: float = LOOK_SECONDS) -> Check:
    """Who has the cores that this process may use, in a look of so many seconds."""
    seen = look(seconds, reader=reader)
    if not seen.is_known:
        return unknown("load")
    cores = seen.allowed
    lines = seen.lines(cores)
    found = "; ".join(lines) or f"nobody has much of a core (a look of {seconds:g} s)"
    if seen.average:
        found += f"; load average {', '.join(f'{each:.2f}' for each in seen.average)}"
    if lines:
        return Check("load", "warning", found, seen.advice(cores), seen)
    if seen.whole and seen.average and seen.average[0] > _LOAD_PER_CORE * len(cores):
        advice = "more wanted to run within the last minute than there are cores: look for longer, "
        return Check("load", "warning", found, advice + "as with --load 10s", seen)
    return Check("load", "ok", found, load=seen)


def machine_checks(reader: Reader = HOST_FILES) -> list[Check]:
    """The answers to all questions about the machine whose files `reader` reads."""
    return [check(reader) for check in CHECKS]
