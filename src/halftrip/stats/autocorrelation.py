"""The autocorrelation of samples, and how many of them count as independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from halftrip.stats.granularity import counted
from halftrip.stats.quantile import Floats, Samples

# Sokal's window ends at this many autocorrelation times: beyond it there is only noise.
_WINDOW_TIMES = 5.0


class Autocorrelation(NamedTuple):
    """`lag1` is the correlation of the ranks of neighbours, -1 to 1; `time` the integrated
    autocorrelation time, in samples, >= 1; `effective` the number of samples that count as
    independent."""

    lag1: float
    time: float
    effective: float


def autocorrelation(samples: Samples) -> Autocorrelation:
    """The autocorrelation of `samples`, shape (n,), in time order.

    It is that of their ranks, so that a few spikes do not hide it (Spearman). `time` is 1 + 2 times
    the sum of the autocorrelations up to the least lag that is at least five times `time` itself
    (Sokal, Monte Carlo Methods in Statistical Mechanics, 1997, section 3). It is at least 1, also
    where samples alternate: none counts for more than one.
    """
    n = samples.size
    if n < 2:
        return Autocorrelation(0.0, 1.0, float(n))
    series = ranks(samples)
    series -= series.mean()
    # By the Fourier transform, padded so that the end does not wrap around to the start.
    size = 1 << (2 * n - 1).bit_length()
    power = np.abs(np.fft.rfft(series, size)) ** 2
    covariances = np.fft.irfft(power, size)[:n]
    if covariances[0] <= 0:  # all are equal
        return Autocorrelation(0.0, 1.0, float(n))
    coefficients = covariances / covariances[0]
    times = 2.0 * np.cumsum(coefficients) - 1.0
    # Where samples are too few for such a window, the largest sum.
    ends = np.flatnonzero(np.arange(n) >= _WINDOW_TIMES * times)
    time = max(1.0, float(times[ends[0]])) if ends.size else float(times.max())
    return Autocorrelation(float(coefficients[1]), time, n / time)


def ranks(samples: Samples) -> Floats:
    """The rank of each sample, from 0; equal samples have the mean of their ranks."""
    order = np.argsort(samples)
    _, counts = counted(samples[order])
    found = np.empty(samples.size)
    found[order] = np.repeat(np.cumsum(counts) - 0.5 * (counts + 1), counts)
    return found
