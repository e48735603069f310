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
    # As np.median, which at its first call imports a package for masked arrays.
    ordered = samples[: blocks * length].reshape(blocks, length).astype(np.float64)
    ordered.sort(axis=1)
    medians: Floats = (ordered[:, (length - 1) // 2] + ordered[:, length // 2]) / 2
    return medians, length
