"""Where a rank runs: recorded with every run, because a number means nothing without it."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Collection, Mapping

from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.records import MITIGATIONS_GAP

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
CPUIDLE = "/sys/devices/system/cpu/cpuidle"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
# Variables with these prefixes are known to change how fast ranks talk. Others are never recorded:
# they may be private.
VARIABLE_PREFIXES = (
    "FI_",
    "GLIBC_TUNABLES",
    "I_MPI_",
    "MPICH_",
    "MPIR_CVAR_",
    "NCCL_",
    "OMPI_MCA_",
    "OMP_",
    "OPAL_",
    "PMIX_MCA_",
    "PRTE_MCA_",
    "PSM2_",
    "SLURM_JOB_",
    "UCX_",
)


def variables(environ: Mapping[str, str], named: Collection[str] = ()) -> dict[str, str]:
    """The environment variables to record, in order of name; with those that the user
    has `named`."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name.startswith(VARIABLE_PREFIXES) or name in named
    }


def processor(reader: Reader = HOST_FILES) -> str:
    """The processor's name as the kernel has it."""
    text = reader.text("/proc/cpuinfo") or ""
    match = re.search(r"^(?:model name|Processor|CPU part)\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def hypervisor(reader: Reader = HOST_FILES) -> str | None:
    """The hypervisor's name, ``unnamed`` if it gives none, ``none`` on bare metal; None where the
    kernel does not say, as on every processor but x86."""
    name = reader.line("/sys/hypervisor/type")
    if name:
        return name
    text = reader.text("/proc/cpuinfo") or ""
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    if flags is None:
        return None
    if "hypervisor" not in flags[1].split():
        return "none"
    return reader.line("/sys/class/dmi/id/sys_vendor") or "unnamed"


def thp(reader: Reader = HOST_FILES) -> str | None:
    """When the kernel uses transparent huge pages: ``always``, ``madvise`` or ``never``."""
    # The file lists all choices, and the one in force in brackets: always [madvise] never.
    match = re.search(r"\[(\w+)\]", reader.line(THP) or "")
    return match[1] if match else None


def governor(core: int | None, reader: Reader = HOST_FILES) -> str | None:
    """The frequency governor of a core (None: of core 0); None where there is none to choose."""
    number = 0 if core is None else core
    return reader.line(f"/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor")


def mitigations(reader: Reader = HOST_FILES) -> str | None:
    """What the kernel does about each vulnerability that the processor has, such as
    ``retbleed: IBRS | spectre_v2: Vulnerable``; ``none needed`` if it has none; None where the
    kernel does not say."""
    states = {
        name: state
        for name in reader.names(VULNERABILITIES)
        if (state := reader.line(f"{VULNERABILITIES}/{name}"))
    }
    if not states:
        return None
    found = [
        f"{name}: {state.removeprefix('Mitigation: ')}"
        for name, state in states.items()
        if state != "Not affected"
    ]
    return MITIGATIONS_GAP.join(found) or "none needed"


def idle(reader: Reader = HOST_FILES) -> str | None:
    """What puts a core without work to sleep, and what chooses how deeply: ``haltpoll, governor
    haltpoll``; None where the kernel does not say."""
    driver = reader.line(f"{CPUIDLE}/current_driver")
    chooser = reader.line(f"{CPUIDLE}/current_governor") or reader.line(
        f"{CPUIDLE}/current_governor_ro"
    )
    if driver is None:
        return None
    return f"{driver}, governor {chooser}" if chooser else driver


def timer_slack(reader: Reader = HOST_FILES) -> int | None:
    """By how much a sleep of this process may be prolonged, ns."""
    return reader.number("/proc/self/timerslack_ns")


def slow_start_after_idle(reader: Reader = HOST_FILES) -> bool | None:
    """Whether a TCP connection begins with a small window again after a silence."""
    found = reader.number("/proc/sys/net/ipv4/tcp_slow_start_after_idle")
    return None if found is None else found != 0


def machine(reader: Reader = HOST_FILES) -> str | None:
    """The boot id of the kernel, which containers of one machine have in common."""
    return reader.line("/proc/sys/kernel/random/boot_id") or None


def host() -> str:
    return socket.gethostname()


def kernel() -> str:
    return f"{os.uname().sysname} {os.uname().release}"
