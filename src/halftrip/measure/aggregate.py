"""What the pairs of a round transferred together, while all of them were active."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from halftrip.results.block import Block
from halftrip.results.case import Case
from halftrip.results.delivery import add_deliveries, delivered_share


def aggregate(
    cases: Sequence[Case],
    batches: Sequence[Sequence[Block]],
    exchanges: int,
    offsets: Sequence[int],
) -> tuple[list[int], list[float]]:
    """For each batch, the time in which all pairs were active, ns, and how many messages of all
    pairs together went one way in it and arrived. A batch in which they never all were is left out.

    Each batch has a block of each case. `exchanges` is how many a sample holds; `offsets` are how
    far the clock of each case's initiator is ahead, ns. A sample that is partly within the time
    counts in part.
    """
    messages_per_sample = [
        exchanges
        * case.messages_per_exchange
        * delivered_share(case, add_deliveries(blocks[number].delivery for blocks in batches))
        for number, case in enumerate(cases)
    ]
    spans, messages = [], []
    for blocks in batches:
        ends = [_sample_ends(block, offset) for block, offset in zip(blocks, offsets, strict=True)]
        low, high = max(int(end[0]) for end in ends), min(int(end[-1]) for end in ends)
        if high <= low:
            continue
        # How many samples of each pair there were before each of the two moments.
        samples = [np.interp([low, high], end, np.arange(end.size)) for end in ends]
        spans.append(high - low)
        messages.append(
            sum(
                float(last - first) * per_sample
                for (first, last), per_sample in zip(samples, messages_per_sample, strict=True)
            )
        )
    return spans, messages


def _sample_ends(block: Block, offset: int) -> npt.NDArray[np.float64]:
    """When the first sample of a block began and each ended, shape (n + 1,), ns by rank 0's clock.
    The time that timed out is spread evenly over the samples."""
    timed_out = block.timed_out / max(block.times.size, 1)
    return (block.start or 0) - offset + np.concatenate(([0], np.cumsum(block.times + timed_out)))
