"""The ranks of an mpiexec that have not connected yet, as the kernel shows them: that of Open MPI 5
may hang for good where one ends while MPI starts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from halftrip.job.existing import RANK_VARIABLES

# An mpiexec that notices it ends by itself before, and says more.
_GRACE_SECONDS = 1.5


class _Rank(NamedTuple):
    name: str
    ended: float | None = None


class StartingRanks:
    """Looks at processes, of which some are ranks. `proc` is where the kernel shows them."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._ranks: dict[int, _Rank] = {}

    def look(self, pids: Iterable[int]) -> None:
        """Notes which of these processes are ranks, and which of those that were have ended."""
        for pid in set(pids) - self._ranks.keys():
            name = self._rank_of(pid)
            if name is not None:
                self._ranks[pid] = _Rank(name)
        for pid, rank in self._ranks.items():
            if rank.ended is None and self._has_ended(pid):
                self._ranks[pid] = rank._replace(ended=time.monotonic())

    def dead(self, connected: Collection[int]) -> str | None:
        """The name of a rank that ended some time ago, other than of those processes."""
        for pid, rank in self._ranks.items():
            is_late = rank.ended is not None and time.monotonic() - rank.ended > _GRACE_SECONDS
            if is_late and pid not in connected:
                return rank.name
        return None

    def _rank_of(self, pid: int) -> str | None:
        with contextlib.suppress(OSError):
            for entry in (self._proc / str(pid) / "environ").read_bytes().split(b"\0"):
                name, _, value = entry.decode(errors="replace").partition("=")
                if name in RANK_VARIABLES and value.isdecimal():
                    return f"rank {value} (process {pid})"
        return None

    def _has_ended(self, pid: int) -> bool:
        """Also where nobody has asked for its status yet."""
        try:
            stat = (self._proc / str(pid) / "stat").read_text(errors="replace")
        except OSError:
            return True
        # The state follows the name, which is in brackets.
        return stat.rpartition(")")[2].split()[:1] in (["Z"], ["X"])
