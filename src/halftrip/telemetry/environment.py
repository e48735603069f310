"""Where a rank runs: recorded with every run, because a number means nothing without it."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Mapping
from pathlib import Path

# Variables with these beginnings are known to change how fast ranks talk. Others are never
# recorded: they may be private.
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


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Those environment variables that are worth recording."""
    return {
        name: value for name, value in sorted(environ.items()) if name.startswith(VARIABLE_PREFIXES)
    }


def read_line(path: str, root: Path = Path("/")) -> str | None:
    """The first line of a file of the kernel's, or None where there is no such file to read."""
    try:
        with open(root / path.lstrip("/"), encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except (OSError, ValueError):  # a path that came from another file may be none
        return None


def processor(root: Path = Path("/")) -> str:
    """The processor's name as the kernel has it."""
    try:
        text = (root / "proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.machine()
    match = re.search(r"^(?:model name|Processor|CPU part)\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def hypervisor(root: Path = Path("/")) -> str | None:
    """The hypervisor's name, ``unnamed`` if it does not give one, ``none`` on bare metal; None
    where the kernel does not say, as on every processor but x86."""
    name = read_line("/sys/hypervisor/type", root)
    if name:
        return name
    try:
        text = (root / "proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return None
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    if flags is None:
        return None
    if "hypervisor" not in flags[1].split():
        return "none"
    return read_line("/sys/class/dmi/id/sys_vendor", root) or "unnamed"


def bracketed(text: str | None) -> str | None:
    """The choice that is in force in a file such as ``always [madvise] never``."""
    match = re.search(r"\[(\w+)\]", text or "")
    return match[1] if match else None


def thp(root: Path = Path("/")) -> str | None:
    """When the kernel uses transparent huge pages: ``always``, ``madvise`` or ``never``."""
    return bracketed(read_line("/sys/kernel/mm/transparent_hugepage/enabled", root))


def governor(core: int | None, root: Path = Path("/")) -> str | None:
    """The frequency governor of a core, or None where there is none to choose."""
    number = 0 if core is None else core
    return read_line(f"/sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor", root)


def host() -> str:
    return socket.gethostname()


def kernel() -> str:
    return f"{os.uname().sysname} {os.uname().release}"
