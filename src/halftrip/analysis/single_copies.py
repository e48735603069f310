"""What one copy by the kernel (process_vm_readv, CMA) leaves of the speed of large messages: MPIs
and UCX copy so, where it is allowed, from a size on. Each launch measures the copy by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from halftrip.analysis.chosen_path import chosen_by_library, mpi_path
from halftrip.analysis.fit import PiecewiseFit
from halftrip.analysis.rows import LARGE
from halftrip.analysis.summaries import kernel_copy
from halftrip.results.memory_name import is_on_device
from halftrip.results.run import Run
from halftrip.results.threshold import Threshold
from halftrip.stats.median import median

_COPIED_SO = ("mpi", "ucx")
# How thresholds of such copies are called.
_NAME = "CMA"
# The caches may hold more for messages than for the copy alone.
_SURELY = 1.25


class SingleCopy(NamedTuple):
    """The speed of messages of `size` bytes, and that of such a copy alone, the median over all
    ranks and launches, bytes per second. `begins`: the size from which on messages are surely
    copied so; None: nothing says that they are."""

    size: int
    speed: float
    limit: float
    begins: int | None = None

    @property
    def is_excluded(self) -> bool:
        """Whether messages are too fast for it."""
        return self.speed > _SURELY * self.limit


def copy_times(run: Run, by_kernel: bool) -> dict[int, float]:
    """The times of a copy by their size in bytes, ns, the median over ranks and launches."""
    found: dict[int, list[float]] = {}
    for copy in run.copy_times:
        if copy.by_kernel == by_kernel:
            found.setdefault(copy.size, []).append(copy.ns)
    return {size: median(times) for size, times in found.items()}


def single_copy(
    run: Run, fit: PiecewiseFit, copies: Mapping[int, float], thresholds: Iterable[Threshold]
) -> SingleCopy | None:
    """That of the largest size of a curve of which a copy was measured, beside its slices or, by
    `copies`, in each launch; `thresholds` are those of the curve. None where its messages cannot
    be copied so, or no large one was measured."""
    curve = fit.curve
    times = fit.measured.times if fit.measured is not None else None
    hosts = {e.host for e in run.first_environments.get(curve.variant, ()) if e.rank in curve.pair}
    if (
        times is None
        or curve.transport not in _COPIED_SO
        or curve.is_one_sided
        or curve.directions > 1
        or len(hosts) != 1
        or any(is_on_device(end.memory) for end in curve.ends)
        or chosen_by_library(run, curve, curve.transport) in ("tcp", "libfabric")
        or (curve.transport == "mpi" and mpi_path(run) == "tcp")
    ):
        return None
    by_size = dict(zip(map(int, times.sizes), map(float, times.times), strict=True))
    slices = run.by_configuration.get
    beside = {each: kernel_copy(slices(replace(curve, size=each), ())) for each in by_size}
    copies = {**copies, **{each: time for each, time in beside.items() if time is not None}}
    size = max((each for each in by_size if each in copies and each >= LARGE), default=None)
    if size is None:
        return None
    values = [each.value for each in thresholds if _NAME in each.name and 0 < each.value <= size]
    speed, limit = 1e9 * size / by_size[size], 1e9 * size / copies[size]
    return SingleCopy(size, speed, limit, min(values, default=None))
