"""What the pairs of a round transferred together, while all of them were active."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from halftrip.results.block import Block
from halftrip.results.counts import delivered_share
from halftrip.results.records import Aggregate, Measurement

_Floats = npt.NDArray[np.float64]


def aggregate(measurements: Sequence[Measurement], offsets: Sequence[int]) -> Aggregate:
    """What all pairs transferred in one slice, at least one, between the moment when the last began
    and the moment when the first ended; nothing where there is no such time.

    `offsets` are how far the clock of each initiator is ahead, ns. A sample that is partly within
    the time counts in part.
    """
    first = measurements[0]
    progress = [_progress(m, offset) for m, offset in zip(measurements, offsets, strict=True)]
    low = max(float(moments[0]) for moments, _ in progress)
    high = min(float(moments[-1]) for moments, _ in progress)
    spans, messages = [], []
    if high > low:
        spans.append(round(high - low))
        messages.append(sum(float(np.diff(np.interp([low, high], *each))[0]) for each in progress))
    return Aggregate(
        configuration=first.configuration,
        slice=first.slice,
        launch=first.launch,
        pairs=[m.configuration.pair for m in measurements],
        spans=spans,
        messages=messages,
    )


def _progress(measurement: Measurement, offset: int) -> tuple[_Floats, _Floats]:
    """Moments, ns by rank 0's clock, and how many messages had arrived by then. Between blocks none
    do."""
    moments = np.concatenate([_moments(block, offset) for block in measurement.blocks])
    samples = np.concatenate([np.arange(block.times.size + 1) for block in measurement.blocks])
    before = np.cumsum([0, *(block.times.size for block in measurement.blocks[:-1])])
    samples += np.repeat(before, [block.times.size + 1 for block in measurement.blocks])
    per_sample = (
        measurement.iterations
        * measurement.configuration.messages_per_iteration
        * delivered_share(measurement.configuration, measurement.delivery)
    )
    return moments, samples * per_sample


def _moments(block: Block, offset: int) -> _Floats:
    """When the first sample of a block began and each ended, shape (n + 1,), ns by rank 0's clock.
    The time that timed out is spread evenly over the samples."""
    timed_out = block.timed_out / max(block.times.size, 1)
    return (block.start or 0) - offset + np.concatenate(([0], np.cumsum(block.times + timed_out)))
