"""The sizes from which on a core handles memory in another way: its caches, and its pages."""

from __future__ import annotations

import mmap

from halftrip.errors import UsageError
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.threshold import Threshold
from halftrip.telemetry.topology import cache_directories, parse_list
from halftrip.units import parse_size

_HUGE_PAGE = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"


def machine_thresholds(core: int | None, reader: Reader = HOST_FILES) -> list[Threshold]:
    """Those of the core that a rank runs on (None: any, so that of its caches nothing is known)."""
    found = [] if core is None else _caches(core, reader)
    page = Threshold(name="the page", value=mmap.PAGESIZE, acts="page", source="sysconf")
    huge = reader.number(_HUGE_PAGE)
    if huge:
        found.append(
            Threshold(name="the huge page", value=huge, acts="page", source="hpage_pmd_size")
        )
    return [*found, page]


def _caches(core: int, reader: Reader) -> list[Threshold]:
    """The caches of a core that hold data, from the first level to the last."""
    found = []
    for directory in cache_directories(reader, core):
        level, kind = reader.line(f"{directory}/level"), reader.line(f"{directory}/type")
        if kind == "Instruction":
            continue
        try:
            size = parse_size(reader.line(f"{directory}/size") or "")
        except UsageError:
            continue
        found.append(
            Threshold(
                name=f"the L{level} cache",
                value=size,
                acts="cache",
                source=f"{directory.rpartition('/')[2]} of cpu{core}",
                cores=parse_list(reader.line(f"{directory}/shared_cpu_list") or "") or [core],
            )
        )
    return found
