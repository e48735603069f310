"""What keeps this process from InfiniBand and other devices that libraries reach by verbs."""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path

_DEVICES = Path("/dev/infiniband")


def obstacles(devices: Path = _DEVICES) -> Sequence[str]:
    """What is wrong and what to do, a line each; none where there are no devices."""
    names = sorted(devices.glob("uverbs*"))
    if not names:
        return []
    closed = [each for each in names if not os.access(each, os.R_OK | os.W_OK)]
    found = [f"{each} may not be opened: join its group, or change its mode" for each in closed[:1]]
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit != resource.RLIM_INFINITY:
        found.append(
            f"no more than {limit >> 10} KiB of memory can be registered: ulimit -l unlimited"
        )
    return found
