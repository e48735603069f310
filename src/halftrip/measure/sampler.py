"""When to time what: a state machine that is fed elapsed times and asks for the next batch.

    first -> calibrate -> warm up -> sample -> done

It touches no clock and no network, so that its every decision can be tested with made times.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.results.records import Stopped, WarmUp
from halftrip.stats.median import Interval, half_width, median_interval

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
# So many times the time allowed may pass in batches that are not accepted.
_MOST_REJECTED = 20
# About this many samples are kept at most; each then holds more exchanges, unless there are buffers
# for no more. Where each has to be a
# single exchange, sampling ends with so many. All of them are there, in the order in which they
# were taken, which is what drift, tails and the interval are read from; a choice out of more would
# not tell these, and of a million the interval is as narrow as it needs to be.
MOST_SAMPLES = 1_000_000
# So many exchanges go before a batch, untimed.
_LEAD = 1
# A kernel call is meant to be no longer than this, so that progress is shown and a stop is noticed:
# two ranks that never wait for each other never look, and have watch.GRACE_SECONDS to come out.
LONGEST_CALL_NS = 0.5e9


class Stopping(msgspec.Struct, frozen=True):
    """When a case ends: see `plan.Plan`. `time` is seconds."""

    ci: float | None = 0.01
    time: float = 0.3
    iterations: int | None = None


class Batch(msgspec.Struct, frozen=True):
    """What to time next: `samples` samples of `exchanges` exchanges each, after `lead` untimed
    ones.

    `cold`: nothing may go before it, so the initiator waits until its peer is surely ready. `keep`:
    its times are what the case is about.
    """

    exchanges: int
    samples: int
    lead: int = _LEAD
    cold: bool = False
    keep: bool = False


class Sampler:
    """Asks for batches with `next` and takes their times with `feed`, in turn, until `next` is
    None.

    `clock_cost` and `clock_resolution` are ns; the first block of samples is `first_block` of the
    time allowed, a later one `growth` of all before it, if that is longer; an exchange is expected
    to last `expected_ns`, None: nothing is known of it. `single`: every exchange is a sample by
    itself, whatever the clock costs; there are no more than MOST_SAMPLES of them. `most_exchanges`:
    no batch has more, those that go first included; None: as many as it takes.
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
            self._most_exchanges = most_exchanges - _LEAD
        # How long was waited in vain, in all and since the last batch that gave any samples; and
        # how many samples all batches gave.
        self._vain_ns = 0.0
        self._vain_since = 0.0
        self._given = 0
        self._phase: Literal["first", "calibrate", "warm up", "sample", "done"] = "first"
        self._sample_ns = 1.0  # how long a sample lasts, as far as is known
        self._samples_left = 0
        self._kept: list[Times] = []
        # How long each of these took, with what was waited in vain, ns.
        self._took: list[float] = []
        self._kept_ns = 0.0
        self._rejected_ns = 0.0
        self._look_ns = _LEAST_SHARE * self._allowed_ns
        self._kept_count = 0
        self._blocks: list[Times] = []
        self._blocks_ns = 0.0
        self._warm_exchanges = 0
        self._warm_ns = 0
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
    def samples(self) -> Times:
        """The kept samples so far, shape (n,), ns per `exchanges` exchanges."""
        return np.concatenate(self._kept) if self._kept else np.empty(0, dtype=np.int64)

    @property
    def warm_up(self) -> WarmUp:
        """What went before the kept samples, the first exchange not counted."""
        return WarmUp(exchanges=self._warm_exchanges, ns=self._warm_ns, settled=self._settled)

    def next(self) -> Batch | None:
        """The next batch, or None when the case is over."""
        if self._phase == "first":
            return Batch(exchanges=1, samples=1, lead=0, cold=True)
        if self._phase == "calibrate":
            slow = self.first >= _SLOW_SHARE * self._allowed_ns
            wanted = 1 if slow else _CALIBRATION_SAMPLES
            return Batch(self.exchanges, min(wanted, self._most_in_a_batch))
        if self._phase == "warm up":
            return self._batch(self._warm_block_samples())
        if self._phase == "sample":
            return self._batch(self._kept_block_samples())
        return None

    def feed(self, times: Times, waited: int = 0) -> None:
        """Takes the times of the batch that `next` gave, ns: shape (samples,), or, where some got
        lost, fewer, and then `waited` is how long was waited for these. Where all got lost, `next`
        asks for the same again."""
        self._vain_ns += waited
        self._vain_since += waited
        if times.size == 0:
            if self._phase == "sample":
                self._kept.append(times)
                self._took.append(0.0)
            return
        self._given += times.size
        vain, self._vain_since = self._vain_since, 0.0
        self._blocks_ns += vain * (self._phase == "warm up")
        if self._phase == "sample":
            self._kept_ns += vain
            self._took.append(vain + float(times.sum()))
        if self._phase == "first":
            self.first = int(times[0])
            self._phase = "calibrate"
        elif self._phase == "calibrate":
            self._calibrate(times)
        elif self._phase == "warm up":
            self._warm(times)
        elif self._phase == "sample":
            self._keep(times)
        else:
            raise RuntimeError("the case is over")

    @property
    def rejected(self) -> bool:
        """Whether it gave up because too much was not accepted."""
        return self._rejected_ns >= _MOST_REJECTED * self._allowed_ns

    def reject(self, times: Times, waited: int = 0) -> None:
        """Takes no notice of the times of a batch that was to be kept, but that they took time:
        there is an end to that too."""
        self._rejected_ns += float(times.sum()) + waited
        if self.rejected:
            self.stopped = "time" if self._kept_count else None
            self._phase = "done"

    def forget(self, number: int) -> None:
        """Takes the block of that number, of those that are kept, for one that was rejected."""
        times = self._kept.pop(number)
        ns = self._took.pop(number)
        self._kept_ns -= ns
        self._look_ns = min(self._look_ns, max(self._kept_ns, _LEAST_SHARE * self._allowed_ns))
        self._kept_count -= times.size
        self._samples_left += times.size
        self._rejected_ns += ns

    def _batch(self, samples: float) -> Batch:
        most = min(max(1, int(LONGEST_CALL_NS / self._turn_ns)), self._most_in_a_batch)
        if self._single and self._phase == "sample":
            most = min(most, MOST_SAMPLES - self._kept_count)
        return Batch(self.exchanges, min(max(1, int(samples)), most), keep=self._phase == "sample")

    @property
    def _most_in_a_batch(self) -> int:
        """How many samples a batch may have, of as many exchanges as there are in one now."""
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
            self._samples_left = max(min(max(1, count // needed), MOST_SAMPLES), fewest)
            self.exchanges = 1 if self._single else math.ceil(count / self._samples_left)
        self._sample_ns = max(ns * self.exchanges, 1.0)
        self._phase = "warm up"

    def _fewest_exchanges(self, ns: float) -> int:
        """How many exchanges of `ns` a sample must hold for no more than MOST_SAMPLES of them, if
        it may hold more than one."""
        fewest = math.ceil(self._allowed_ns / ns / MOST_SAMPLES)
        return 1 if self._single else int(min(fewest, self._most_exchanges))

    def _count_warm_up(self, times: Times) -> None:
        self._warm_exchanges += times.size * self.exchanges
        self._warm_ns += int(times.sum())

    @property
    def _turn_ns(self) -> float:
        """How long it takes to get a sample, with what is lost on the way to it."""
        return self._sample_ns + self._vain_ns / max(self._given, 1)

    def _warm_block_samples(self) -> float:
        if self._guessed:
            return _CALIBRATION_SAMPLES
        wanted = max(_WARM_BLOCK_NS / self._turn_ns, _WARM_BLOCK_SAMPLES)
        share = _WARM_SHARE * self._allowed_ns / _AGREEING_BLOCKS
        return min(wanted, share / self._turn_ns)

    def _warm(self, times: Times) -> None:
        self._count_warm_up(times)
        self._blocks_ns += float(times.sum())
        self._sample_ns = max(float(np.median(times)), 1.0)
        too_short = self._sample_ns < self._least_sample_ns
        if too_short and self.exchanges < self._most_exchanges:
            # What was calibrated was cold. Below a step of the clock nothing can be told; and what
            # follows is always more exchanges than before, so this ends.
            told = max(self._sample_ns, self._least_sample_ns * CLOCK_SHARE)
            before = self.exchanges
            self._set_exchange(told / before)
            self._blocks = []
            # A sample may last much longer than what could be told: by that, a block would take all
            # the time that there is for warming up.
            self._guessed = self.exchanges > before
        elif self._guessed:
            self._guessed = False
        else:
            self._blocks = [*self._blocks[1 - _AGREEING_BLOCKS :], times]
        self._settled = len(self._blocks) == _AGREEING_BLOCKS and self._blocks_agree()
        if self._settled or self._blocks_ns >= _WARM_SHARE * self._allowed_ns:
            self._start_sampling()

    def _start_sampling(self) -> None:
        if self._stopping.iterations is None:
            # How long an exchange takes is known better now than when it was calibrated.
            ns = self._sample_ns / self.exchanges
            self.exchanges = max(self.exchanges, self._fewest_exchanges(ns))
            self._sample_ns = ns * self.exchanges
        self._phase = "sample"

    def _blocks_agree(self) -> bool:
        tolerance = self._stopping.ci or _AGREEMENT
        last = self._blocks[-1]
        return all(_agree(block, last, tolerance) for block in self._blocks[:-1])

    def _kept_block_samples(self) -> float:
        if self._stopping.iterations is not None:
            return self._samples_left
        wanted = max(self._first_block * self._allowed_ns, self._growth * self._kept_ns)
        return min(wanted, self._allowed_ns - self._kept_ns) / self._turn_ns

    def _keep(self, times: Times) -> None:
        self._kept.append(times)
        self._kept_count += times.size
        self._kept_ns += float(times.sum())
        # A path that has just slowed down must not make the next call so much longer.
        self._sample_ns = max(float(np.median(times[-_LATEST_SAMPLES:])), 1.0)
        self._samples_left -= times.size
        self.stopped = self._why_stop()
        if self.stopped is not None:
            self._phase = "done"

    def _why_stop(self) -> Stopped | None:
        full = self._single and self._kept_count >= MOST_SAMPLES
        count = self._stopping.iterations
        if count is not None:
            if self._samples_left > 0:
                return None
            return "full" if full and count > MOST_SAMPLES else "count"
        target = self._stopping.ci
        over = self._kept_ns + self._sample_ns / 2 >= self._allowed_ns
        if target is not None and (over or full or self._kept_ns >= self._look_ns):
            self._look_ns = (1 + _LOOK_GROWTH) * self._kept_ns
            if half_width(self.samples) <= target:
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
