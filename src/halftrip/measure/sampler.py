"""When to time what: a state machine that is fed elapsed times and asks for the next batch.

    first -> calibrate -> warm up -> sample -> done

It touches no clock and no network, so that its every decision can be tested with made times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.results.records import Stopped, WarmUp
from halftrip.stats.median import half_width, median_interval
from halftrip.stats.quantile import Interval

Times = npt.NDArray[np.int64]

# Reading the clock may take this share of a sample, and one step of it likewise.
CLOCK_SHARE = 0.01
# A sample of several exchanges lasts at least this long: it shows no tail anyhow, and fewer, longer
# samples make smaller files.
_LEAST_BATCH_NS = 10_000.0
# Calibration times each size of batch this often and believes the shortest; but only once where the
# first exchange, cold as it was, took this share of the time allowed.
_CALIBRATION_SAMPLES = 3
_SLOW_SHARE = 0.1
# Warm-up goes on in blocks of at least this long and this many samples, where time allows, ...
_WARM_BLOCK_NS = 2e6
_WARM_BLOCK_SAMPLES = 8
# ... until this many in a row agree, or until this share of the time allowed is over. Medians agree
# that differ by less than the interval asked for, or than this where none is.
_AGREEING_BLOCKS = 3
_WARM_SHARE = 0.5
_AGREEMENT = 0.01
# Sampling goes on in blocks: the first is this share of the time allowed, each later one
# half of all that went before, as a rule. The interval is worked out when there is so much more
# than there was the last time: a dozen times, not a thousand, however short the blocks have to be.
FIRST_BLOCK_SHARE = 0.05
BLOCK_GROWTH = 0.5
_LOOK_GROWTH = 0.25
# How long a sample lasts now is what so many of the latest say.
_LATEST_SAMPLES = 8
# A case does not end before this share of the time allowed: an interval speaks of the time it saw.
_LEAST_SHARE = 0.1
# This many times the time allowed may pass in batches that are rejected.
_MOST_REJECTED = 20
# About this many samples are kept at most: each then holds more exchanges, unless there are buffers
# for no more. Where each has to be a single exchange, sampling ends with this many. All of them are
# kept in time order, which drift, tails and the interval are computed from; a selection out of more
# would not show these.
MOST_SAMPLES = 1_000_000
# Untimed exchanges before each batch, so that both ends are in the loop.
_WARM_UP_EXCHANGES = 1
# A kernel call is meant to be no longer than this, so that progress is shown and a stop is noticed:
# two ranks that never wait for each other never look, and have watch.GRACE_SECONDS to come out.
LONGEST_CALL_NS = 0.5e9


class Stopping(msgspec.Struct, frozen=True):
    """When a case ends: see `plan.Plan`. `time` is seconds."""

    ci: float | None = 0.01
    time: float = 0.3
    iterations: int | None = None


class Batch(msgspec.Struct, frozen=True):
    """What to time next: `samples` samples of `exchanges` exchanges each, after `warm_up` untimed
    exchanges.

    `cold`: the first exchange of the case, so none may precede it, and the initiator waits until
    its peer is surely ready. `keep`: its times become a block of the measurement.
    """

    exchanges: int
    samples: int
    warm_up: int = _WARM_UP_EXCHANGES
    cold: bool = False
    keep: bool = False

    @property
    def total_exchanges(self) -> int:
        """Timed and untimed."""
        return self.warm_up + self.exchanges * self.samples


class Sampled:
    """What a batch gave: the times of its samples, shape (n,), ns, and how long was waited for
    replies that did not come, ns; `elapsed` is the sum of both."""

    def __init__(self, times: Times, timed_out: int = 0) -> None:
        self.times = times
        self.timed_out = timed_out
        self.elapsed = int(times.sum()) + timed_out


class Sampler:
    """Asks for batches with `next`, and is given what came of each, until `next` returns None: with
    `feed` until warm-up is over, then with `keep`.

    `clock_cost` and `clock_resolution` are ns; the first block of samples is `first_block` of the
    time allowed, a later one `growth` of all before it, if that is longer; an exchange is expected
    to last `expected_ns` (None: not known). `single`: every exchange is a sample by itself,
    whatever the clock costs; there are no more than MOST_SAMPLES of them. `most_exchanges`: no
    batch has more, untimed ones included; None: no limit.
    """

    def __init__(
        self,
        stopping: Stopping,
        clock_cost: float,
        clock_resolution: float,
        first_block: float = FIRST_BLOCK_SHARE,
        expected_ns: float | None = None,
        single: bool = False,
        most_exchanges: int | None = None,
        growth: float = BLOCK_GROWTH,
    ) -> None:
        self._stopping = stopping
        self._growth = growth
        self._first_block = first_block
        self._allowed_ns = stopping.time * 1e9
        self._least_sample_ns = max(clock_cost, clock_resolution) / CLOCK_SHARE
        self._single = single
        if single:
            self._least_sample_ns = 0.0
        self._most_exchanges: float = math.inf
        if most_exchanges is not None:
            self._most_exchanges = most_exchanges - _WARM_UP_EXCHANGES
        # How long was waited for lost replies, and how many samples all batches gave.
        self._timed_out_ns = 0.0
        self._given = 0
        self._phase: Literal["first", "calibrate", "warm up", "sample", "done"] = "first"
        self._sample_ns = 1.0  # how long a sample lasts, as far as is known
        self._count = 0  # of samples, with `iterations`
        self._kept: Sequence[Sampled] = ()
        self._rejected_ns = 0.0
        self._look_ns = _LEAST_SHARE * self._allowed_ns
        self._latest: list[Times] = []  # blocks of warm-up that may agree
        self._warming_ns = 0.0
        self._warm_up_exchanges = 0
        self._warm_up_ns = 0
        self._settled = False
        self._guessed = False  # how long a sample lasts
        self.first = 0
        # Where calibration begins; it ends where the times say, whatever was expected.
        self.exchanges = 1
        if expected_ns:
            self.exchanges = max(
                1, int(min(self._least_sample_ns / expected_ns, self._most_exchanges))
            )
        self.stopped: Stopped | None = None

    @property
    def warm_up(self) -> WarmUp:
        """What preceded the kept samples, without the first exchange."""
        return WarmUp(exchanges=self._warm_up_exchanges, ns=self._warm_up_ns, settled=self._settled)

    def next(self) -> Batch | None:
        """The next batch, or None when the case is over."""
        if self._phase == "first":
            return Batch(exchanges=1, samples=1, warm_up=0, cold=True)
        if self._phase == "calibrate":
            slow = self.first >= _SLOW_SHARE * self._allowed_ns
            wanted = 1 if slow else _CALIBRATION_SAMPLES
            return Batch(self.exchanges, min(wanted, self._most_in_a_batch))
        if self._phase == "warm up":
            return self._batch(self._warm_block_samples())
        if self._phase == "sample":
            return self._batch(self._kept_block_samples())
        return None

    def feed(self, batch: Sampled) -> None:
        """Takes the times of the batch that `next` gave, before sampling begins. There are fewer
        than asked for where replies were lost; where all were, `next` asks for the same again."""
        self._timed_out_ns += batch.timed_out
        self._warming_ns += batch.timed_out * (self._phase == "warm up")
        times = batch.times
        self._given += times.size
        if not times.size:
            return
        if self._phase == "first":
            self.first = int(times[0])
            self._phase = "calibrate"
        elif self._phase == "calibrate":
            self._calibrate(times)
        elif self._phase == "warm up":
            self._warm(times)
        else:
            raise RuntimeError("warm-up is over")

    def keep(self, latest: Sampled, kept: Sequence[Sampled], rejected: Sequence[Sampled]) -> None:
        """Takes `latest`, the batch that `next` gave for samples to keep. `kept` are all such
        batches that count by now, in time order, and `rejected` those that did so far and no longer
        do, or `latest`, if it does not."""
        if self._phase != "sample":
            raise RuntimeError("these are not the samples that were asked for")
        self._kept = kept
        self._rejected_ns += sum(batch.elapsed for batch in rejected)
        if any(batch is latest for batch in rejected):
            if self.gave_up:
                self.stopped = "time" if self._kept_count else None
                self._phase = "done"
            return
        if rejected:
            # The interval that was known is of samples that do not count.
            self._look_ns = _LEAST_SHARE * self._allowed_ns
        times = latest.times
        self._timed_out_ns += latest.timed_out
        self._given += times.size
        if not times.size:
            return
        # A path that has just slowed down must not make the next call so much longer.
        self._sample_ns = max(float(np.median(times[-_LATEST_SAMPLES:])), 1.0)
        self.stopped = self._why_stop()
        if self.stopped is not None:
            self._phase = "done"

    @property
    def gave_up(self) -> bool:
        """Whether too much was rejected."""
        return self._rejected_ns >= _MOST_REJECTED * self._allowed_ns

    @property
    def _kept_ns(self) -> int:
        return sum(batch.elapsed for batch in self._kept)

    @property
    def _kept_count(self) -> int:
        return sum(batch.times.size for batch in self._kept)

    def _batch(self, samples: float) -> Batch:
        most = min(max(1, int(LONGEST_CALL_NS / self._turn_ns)), self._most_in_a_batch)
        if self._single and self._phase == "sample":
            most = min(most, MOST_SAMPLES - self._kept_count)
        return Batch(self.exchanges, min(max(1, int(samples)), most), keep=self._phase == "sample")

    @property
    def _most_in_a_batch(self) -> int:
        """How many samples of the present number of exchanges a batch may have."""
        return int(min(max(1, self._most_exchanges / self.exchanges), MOST_SAMPLES))

    def _calibrate(self, times: Times) -> None:
        """Doubles the batch until it is long enough to tell how long an exchange takes, or as long
        as it may be."""
        self._count_warm_up(times)
        shortest = float(times.min())
        if shortest < self._least_sample_ns and 2 * self.exchanges <= self._most_exchanges:
            self.exchanges *= 2
        else:
            self._set_exchange(shortest / self.exchanges)

    def _set_exchange(self, ns: float) -> None:
        """Sets how many exchanges a sample holds, one taking `ns`."""
        needed = 1
        if ns < self._least_sample_ns:
            needed = math.ceil(max(self._least_sample_ns, _LEAST_BATCH_NS) / ns)
            needed = int(min(needed, self._most_exchanges))
        count = self._stopping.iterations
        if count is None:
            self.exchanges = max(needed, self._fewest_exchanges(ns))
        else:
            # Whole batches of one size: a count that they do not divide is rounded up.
            fewest = math.ceil(count / self._most_exchanges)
            self._count = max(min(max(1, count // needed), MOST_SAMPLES), fewest)
            self.exchanges = 1 if self._single else math.ceil(count / self._count)
        self._sample_ns = max(ns * self.exchanges, 1.0)
        self._phase = "warm up"

    def _fewest_exchanges(self, ns: float) -> int:
        """How many exchanges of `ns` a sample must hold for no more than MOST_SAMPLES of them, if
        it may hold more than one."""
        fewest = math.ceil(self._allowed_ns / ns / MOST_SAMPLES)
        return 1 if self._single else int(min(fewest, self._most_exchanges))

    def _count_warm_up(self, times: Times) -> None:
        self._warm_up_exchanges += times.size * self.exchanges
        self._warm_up_ns += int(times.sum())

    @property
    def _turn_ns(self) -> float:
        """How long it takes to get a sample, with what times out before it."""
        return self._sample_ns + self._timed_out_ns / max(self._given, 1)

    def _warm_block_samples(self) -> float:
        if self._guessed:
            return _CALIBRATION_SAMPLES
        wanted = max(_WARM_BLOCK_NS / self._turn_ns, _WARM_BLOCK_SAMPLES)
        share = _WARM_SHARE * self._allowed_ns / _AGREEING_BLOCKS
        return min(wanted, share / self._turn_ns)

    def _warm(self, times: Times) -> None:
        self._count_warm_up(times)
        self._warming_ns += float(times.sum())
        self._sample_ns = max(float(np.median(times)), 1.0)
        too_short = self._sample_ns < self._least_sample_ns
        if too_short and self.exchanges < self._most_exchanges:
            # What was calibrated was cold. Below a step of the clock nothing can be told; and what
            # follows is always more exchanges than before, so this ends.
            told = max(self._sample_ns, self._least_sample_ns * CLOCK_SHARE)
            before = self.exchanges
            self._set_exchange(told / before)
            self._latest = []
            # A sample may last much longer than what could be told: by that, a block would take all
            # the time that there is for warming up.
            self._guessed = self.exchanges > before
        elif self._guessed:
            self._guessed = False
        else:
            self._latest = [*self._latest[1 - _AGREEING_BLOCKS :], times]
        self._settled = len(self._latest) == _AGREEING_BLOCKS and self._latest_agree()
        if self._settled or self._warming_ns >= _WARM_SHARE * self._allowed_ns:
            self._start_sampling()

    def _start_sampling(self) -> None:
        if self._stopping.iterations is None:
            # How long an exchange takes is known better now than when it was calibrated.
            ns = self._sample_ns / self.exchanges
            self.exchanges = max(self.exchanges, self._fewest_exchanges(ns))
            self._sample_ns = ns * self.exchanges
        self._phase = "sample"

    def _latest_agree(self) -> bool:
        tolerance = self._stopping.ci or _AGREEMENT
        last = self._latest[-1]
        return all(_agree(block, last, tolerance) for block in self._latest[:-1])

    def _kept_block_samples(self) -> float:
        if self._stopping.iterations is not None:
            return self._count - self._kept_count
        wanted = max(self._first_block * self._allowed_ns, self._growth * self._kept_ns)
        return min(wanted, self._allowed_ns - self._kept_ns) / self._turn_ns

    def _why_stop(self) -> Stopped | None:
        full = self._single and self._kept_count >= MOST_SAMPLES
        count = self._stopping.iterations
        if count is not None:
            if self._kept_count < self._count:
                return None
            return "full" if full and count > MOST_SAMPLES else "count"
        target = self._stopping.ci
        kept_ns = self._kept_ns
        over = kept_ns + self._sample_ns / 2 >= self._allowed_ns
        if target is not None and (over or full or kept_ns >= self._look_ns):
            self._look_ns = (1 + _LOOK_GROWTH) * kept_ns
            if half_width(np.concatenate([batch.times for batch in self._kept])) <= target:
                return "converged"
        if over:
            return "time"
        return "full" if full else None


def _agree(a: Times, b: Times, tolerance: float) -> bool:
    """Whether the medians of two blocks differ by no more than `tolerance`, or than chance
    would."""
    middle_a, middle_b = float(np.median(a)), float(np.median(b))
    if abs(middle_a - middle_b) <= tolerance * middle_b:
        return True
    one, other = _bounds(a), _bounds(b)
    return one.low <= other.high and other.low <= one.high


def _bounds(block: Times) -> Interval:
    return median_interval(block) or Interval(float(block.min()), float(block.max()))
