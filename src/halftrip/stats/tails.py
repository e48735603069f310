"""The slow exchanges: high quantiles of long runs, in bounded memory."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from halftrip.stats.quantile import (
    Floats,
    Interval,
    Samples,
    at_least_independent,
    quantile_interval,
    student_95,
)

# So many samples are kept as they are.
MOST_RAW = 100_000
# Beyond, a quantile is known within this share of itself.
RELATIVE_ERROR = 0.005
# Histograms are kept of at most so many stretches of time, so that what comes in bursts shows.
_MOST_STRETCHES = 64

Counts = npt.NDArray[np.int64]


class Tail:
    """Is fed blocks of samples, each of one exchange, in time order, and answers quantiles.

    Up to `most_raw` samples it keeps them all. Beyond, it keeps histograms whose buckets grow by
    one factor, so that any quantile is known within the share `error` of itself (DDSketch: Masson,
    Rim and Lee, Proceedings of the VLDB Endowment 12, 2019), one for each of at most 64 stretches
    of time, neighbours joined as time goes on (Yeh and Schmeiser, Winter Simulation Conference
    2000): some megabytes at most.
    """

    def __init__(self, most_raw: int = MOST_RAW, error: float = RELATIVE_ERROR) -> None:
        self.count = 0
        self.max = -math.inf
        self._most_raw = most_raw
        self._growth = math.log((1 + error) / (1 - error))
        self._error = error
        self._raw: list[Floats] | None = []
        # Of the samples 0 and of bucket `_first` on; one row for each stretch, in time order.
        self._zeros: Counts = np.zeros(0, dtype=np.int64)
        self._first = 0
        self._counts: Counts = np.zeros((0, 0), dtype=np.int64)
        self._stretch = 0  # how many samples make a stretch

    def feed(self, block: Samples) -> None:
        """Takes the next `block`, shape (n,), all >= 0 and finite; ValueError otherwise."""
        if block.size == 0:
            return
        if not (block.min() >= 0 and block.max() < math.inf):
            raise ValueError("a time is below zero, infinite or not a number")
        self.count += block.size
        self.max = max(self.max, float(block.max()))
        if self._raw is not None:
            self._raw.append(block.astype(np.float64))
            if self.count > self._most_raw:
                self._coarsen()
        else:
            self._count(block.astype(np.float64))

    def merge(self, other: Tail) -> Tail:
        """Both, `other` after this one. ValueError where their errors differ."""
        if other._error != self._error:
            raise ValueError("tails of different errors cannot be merged")
        merged = Tail(self._most_raw, self._error)
        merged.count = self.count + other.count
        merged.max = max(self.max, other.max)
        if self._raw is not None and other._raw is not None and merged.count <= self._most_raw:
            merged._raw = [*self._raw, *other._raw]
            return merged
        merged._raw = None
        for part in (self, other):
            counted = part._counted()
            merged._stretch = max(merged._stretch, counted._stretch)
            merged._append(counted._zeros, counted._first, counted._counts)
        while merged._zeros.size > _MOST_STRETCHES:
            merged._join()
        return merged

    def quantile(self, q: float) -> float:
        """The quantile `q`, 0 to 1, samples' unit; NaN where there are no samples."""
        if self.count == 0:
            return math.nan
        if q >= 1:
            return self.max
        if self._raw is not None:
            return float(np.quantile(self._samples(), q))
        return self._value(math.floor((self.count - 1) * q), 0.0)

    def interval(self, q: float) -> Interval | None:
        """The 95 % interval of the quantile `q`, 0 < q < 1; see `quantile_interval`. None where the
        samples are too few for it: of p99.9 some thousands are needed."""
        if self._raw is not None:
            return quantile_interval(self._samples(), q)
        n = self.count
        bucket = self._bucket(math.floor((n - 1) * q))
        totals = self._zeros + self._counts.sum(axis=1)
        # As in quantile_interval, of stretches in place of overlapping batches.
        up_to = self._zeros + self._counts[:, : max(0, bucket)].sum(axis=1)
        here = self._counts[:, bucket] if bucket >= 0 else self._zeros
        below = up_to * (bucket >= 0) + 0.5 * here
        stretches = totals.size
        away = below - totals * (below.sum() / n)
        variance = float(away @ away) / n * stretches / max(1, stretches - 1)
        dof = max(2.0, stretches - 1.0)
        variance, dof = at_least_independent(variance, dof, q)
        spread = student_95(dof) * math.sqrt(n * variance) + 0.5
        low, above = math.floor(n * q - spread), math.floor(n * (1 - q) - spread)
        if low < 0 or above < 0:
            return None
        return Interval(self._value(low, -1.0), min(self.max, self._value(n - 1 - above, 1.0)))

    def beyond_max(self) -> float:
        """The share of exchanges that may be slower than the slowest seen, at 95 % confidence, if
        they are independent: 3 / n (Hanley and Lippman-Hand, Journal of the American Medical
        Association 249, 1983)."""
        return 1.0 - 0.05 ** (1 / self.count) if self.count else 1.0

    @property
    def nbytes(self) -> int:
        """What the samples or histograms take, bytes."""
        return sum(block.nbytes for block in self._raw or []) + self._counts.nbytes

    def _samples(self) -> Floats:
        if not self._raw:
            return np.empty(0)
        if len(self._raw) > 1:
            self._raw = [np.concatenate(self._raw)]
        return self._raw[0]

    def _bucket(self, place: int) -> int:
        """The bucket of the sample at `place` in ascending order, -1 for zero."""
        up_to = int(self._zeros.sum()) + np.cumsum(self._counts.sum(axis=0))
        if place < self._zeros.sum():
            return -1
        return int(np.searchsorted(up_to, place, side="right"))

    def _value(self, place: int, side: float) -> float:
        """What stands for the sample at `place`: `side` -1, 0, 1: the least, the middle, the most
        of its bucket."""
        bucket = self._bucket(place)
        if bucket < 0:
            return 0.0
        upper = math.exp((self._first + bucket) * self._growth)
        return upper * (1 - self._error) / (1 - side * self._error)

    def _counted(self) -> Tail:
        """This one, or a copy with histograms in place of samples."""
        if self._raw is None:
            return self
        copy = Tail(self._most_raw, self._error)
        copy._raw, copy.count, copy.max = list(self._raw), self.count, self.max
        copy._coarsen()
        return copy

    def _coarsen(self) -> None:
        """Makes histograms of the samples."""
        samples = self._samples()
        self._raw = None
        self._stretch = -(-samples.size // _MOST_STRETCHES)
        self._count(samples)

    def _count(self, block: Floats) -> None:
        while block.size:
            rows = self._zeros.size
            filled = int(self._zeros[-1] + self._counts[-1].sum()) if rows else self._stretch
            if filled >= self._stretch:
                if rows == _MOST_STRETCHES:
                    self._join()
                    continue
                self._append(np.zeros(1, dtype=np.int64), self._first, self._counts[:0])
                filled = 0
            piece, block = np.split(block, [self._stretch - filled])
            positive = piece[piece > 0]
            self._zeros[-1] += piece.size - positive.size
            if positive.size:
                buckets = np.ceil(np.log(positive) / self._growth).astype(np.int64)
                self._widen(int(buckets.min()), int(buckets.max()) + 1)
                self._counts[-1] += np.bincount(
                    buckets - self._first, minlength=self._counts.shape[1]
                )

    def _append(self, zeros: Counts, first: int, counts: Counts) -> None:
        """Appends stretches, whose buckets begin at `first`; missing rows of `counts` are empty."""
        rows, columns = self._zeros.size, counts.shape[1]
        self._zeros = np.concatenate((self._zeros, zeros))
        self._counts = np.pad(self._counts, ((0, zeros.size), (0, 0)))
        if columns:
            self._widen(first, first + columns)
            at = first - self._first
            self._counts[rows : rows + counts.shape[0], at : at + columns] += counts

    def _widen(self, first: int, end: int) -> None:
        """Makes room for the buckets from `first` to before `end`."""
        columns = self._counts.shape[1]
        if not columns:
            self._first = first
        before = max(0, self._first - first)
        after = max(0, end - self._first - columns)
        if before or after:
            self._counts = np.pad(self._counts, ((0, 0), (before, after)))
            self._first -= before

    def _join(self) -> None:
        """Joins neighbours among stretches."""
        pairs = np.arange(0, self._zeros.size, 2)
        self._zeros = np.add.reduceat(self._zeros, pairs)
        self._counts = np.add.reduceat(self._counts, pairs, axis=0)
        self._stretch *= 2
