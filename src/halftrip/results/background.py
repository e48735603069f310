"""What traffic beside a slice moved while its samples were taken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from halftrip.results.block import Times
from halftrip.results.bounds import Amount, Count, WholeNs


class BackgroundTraffic(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic beside the samples of a slice, which took `ns`: how many `bytes` of payload it
    moved meanwhile, in all directions and flows together, and in which share of that time all of
    its flows were `running`. `load` is the CPU time of its threads over elapsed time, at the end
    that spent more. `own_cores`: none of its threads had a core of those that were timed."""

    bytes: Count
    ns: WholeNs
    running: Amount
    load: Amount
    own_cores: bool

    @property
    def bandwidth(self) -> float:
        """Payload in all directions together, bytes per second."""
        return self.bytes / self.ns * 1e9 if self.ns else 0.0


def together(found: Iterable[BackgroundTraffic | None]) -> BackgroundTraffic | None:
    """That of several slices; None where none had any."""
    known = [each for each in found if each is not None]
    if not known:
        return None
    ns = sum(each.ns for each in known)
    return BackgroundTraffic(
        bytes=sum(each.bytes for each in known),
        ns=ns,
        running=sum(each.running * each.ns for each in known) / max(ns, 1),
        load=sum(each.load * each.ns for each in known) / max(ns, 1),
        own_cores=all(each.own_cores for each in known),
    )


def moved(
    batches: Sequence[tuple[int, Times]], sample_bytes: Sequence[int], began: int, ended: int
) -> tuple[int, int]:
    """How many bytes a flow moved between two moments, and for how long, ns, it was in a batch
    meanwhile.

    A batch is the moment at which its first sample began, and the times of all, shape (n,), each of
    which moved as many bytes as `sample_bytes` says. Of a sample that was under way at either
    moment, the part between them counts.
    """
    count, running = 0.0, 0
    for (start, times), size in zip(batches, sample_bytes, strict=True):
        edges = np.clip(start + np.concatenate(([0], np.cumsum(times))), began, ended)
        inside = np.diff(edges)
        running += int(inside.sum())
        count += size * float((inside / np.maximum(times, 1)).sum())
    return round(count), running
