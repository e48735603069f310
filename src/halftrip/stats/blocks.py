"""Medians of blocks of samples, in time order."""

from __future__ import annotations

import numpy as np

from halftrip.stats.quantile import Floats, Samples


def block_medians(samples: Samples, most: int) -> tuple[Floats, int]:
    """The medians of at most `most` blocks of equal length, and that length, in samples.

    `samples` has shape (n,), n >= 1. The last n modulo the length belong to no block.
    """
    length = -(-samples.size // most)
    blocks = samples.size // length
    return np.median(samples[: blocks * length].reshape(blocks, length), axis=1), length
