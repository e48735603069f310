"""Decides which batch to time next in a slice of a configuration: a state machine that is fed the
times of each batch.

    first -> calibrate -> warm up -> sample -> done        (the first slice)
                                     sample -> done        (every later one)

A later slice begins with untimed iterations. Where its first block shows that they did not do, as
the path has got faster or still does, that block is the beginning of a warm-up.

It reads no clock and sends nothing, so that tests can check every decision with made-up times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from halftrip.measure.batch import (
    CLOCK_SHARE,
    UNTIMED_ITERATIONS,
    Arrivals,
    Batch,
    MeanTimes,
    Sampled,
    Stopping,
    untimed_iterations,
)
from halftrip.measure.kept_blocks import DEFAULT_LENGTHS, BlockLengths, KeptBlocks
from halftrip.measure.warm_up import TOLERANCE, WarmUpBlocks
from halftrip.results.block import Times
from halftrip.results.records import Stopped, WarmUp
from halftrip.stats.median import median
from halftrip.stats.settle import fades

# A sample of several iterations lasts at least this long: it cannot show tails, and fewer, longer
# samples make smaller files.
_LEAST_SEVERAL_NS = 10_000.0
# Calibration takes this many samples of each number of iterations and uses the shortest; only one
# where the first iteration, although cold, took this share of the time allowed.
_CALIBRATION_SAMPLES = 3
_SLOW_SHARE = 0.1
# The present time of a sample is the median of so many.
_LATEST_SAMPLES = 8
# At most about this many samples of a configuration are kept: for more time, each holds more
# iterations, as far as there are buffers; where each has to be a single one, sampling ends then.
# Drift, tails and the interval need all of them in time order.
MOST_SAMPLES = 1_000_000
# A kernel call should be no longer than this, so that progress is shown and a stop is noticed: two
# ranks that never wait for each other do not check for a stop within a call, and have
# watchdog.GRACE_SECONDS to return from it.
LONGEST_CALL_NS = 0.5e9


class Sampler:
    """Samples a configuration, slice by slice. Each slice begins with `begin`; then `next` requests
    batches until it returns None, and the result of each is given to `feed` until warm-up is over,
    then to `keep`.

    `clock_cost` and `clock_resolution` are ns. The blocks of a slice have these `lengths`. An
    iteration is expected to take `expected_ns` (None: not known). `single`: every iteration is a
    sample by itself, whatever the clock costs. `most_iterations` is the limit of one batch, untimed
    iterations included (None: no limit). `arrivals_cost` is that of the clock readings in a sample,
    ns, in which the responder says when the message arrived (None: it never does).

    `first` is the time of the first iteration, ns. `iterations` is how many a sample holds.
    `stopped` is why the slice ended; None before, and where nothing was kept.
    """

    def __init__(
        self,
        stopping: Stopping,
        clock_cost: float,
        clock_resolution: float,
        lengths: BlockLengths = DEFAULT_LENGTHS,
        expected_ns: float | None = None,
        single: bool = False,
        most_iterations: int | None = None,
        arrivals_cost: float | None = None,
    ) -> None:
        self._ci = stopping.ci
        self._warm_up_count = stopping.warmup
        self._allowed_ns = stopping.time * 1e9
        self._most_samples_of_slice = max(1, MOST_SAMPLES // stopping.slices)
        self._lengths = lengths
        self._single = single
        self._least_sample_ns = 0.0
        if not single:
            self._least_sample_ns = max(clock_cost, clock_resolution) / CLOCK_SHARE
        self._most_iterations: float = math.inf
        if most_iterations is not None:
            self._most_iterations = most_iterations - UNTIMED_ITERATIONS

        self._arrivals = Arrivals(arrivals_cost)
        self._phase: Literal["first", "calibrate", "warm up", "sample", "done"] = "done"
        self._is_calibrated = False
        self.first = 0
        # Where calibration begins; where it ends does not depend on what was expected.
        self.iterations = 1
        if expected_ns:
            self.iterations = max(
                1, int(min(self._least_sample_ns / expected_ns, self._most_iterations))
            )
        # The time of a sample, as far as it is known.
        self._sample_ns = 1.0
        # Where samples are of two levels, the median may be of the fast one, and most of the time
        # be that of the slow one.
        self._means = MeanTimes()
        # Of all batches: the time spent waiting for lost replies, and how many samples they gave.
        self._timed_out_ns = 0.0
        self._taken = 0
        # Whether this slice has done without a warm-up so far.
        self._is_warm = False
        self._begin(None)

    def begin(self, iterations: int | None = None, spread: float = 0.0, least: float = 0.0) -> None:
        """Begins the next slice, which ends after exactly `iterations` iterations, if that is
        given. Slices so far differ by the share `spread` of their median. It is not over early
        before it has sampled for `least` seconds."""
        self._begin(iterations, spread, least)
        self._phase = "first"
        if self._is_calibrated:
            self._set_iterations(self._sample_ns / self.iterations)

    def _begin(self, iterations: int | None, spread: float = 0.0, least: float = 0.0) -> None:
        self._iterations = iterations
        self.stopped: Stopped | None = None
        is_first = not self._is_calibrated
        self._is_warm = not is_first and self._may_be_warm
        self._warm = WarmUpBlocks(is_first, self._ci, self._allowed_ns, self._warm_up_count)
        # Samples requested, of a fixed count.
        self._requested = 0
        self._means.begin_slice()
        self._kept = KeptBlocks(self._lengths, self._allowed_ns, self._ci, spread, least * 1e9)

    @property
    def _may_be_warm(self) -> bool:
        """Whether a later slice may do without a warm-up: a batch may begin with as many untimed
        iterations as a path takes after a rest."""
        may_be_many = self._warm_up_count is None and self._most_iterations == math.inf
        return may_be_many and self._lengths.growth > 0

    def allow(self, seconds: float) -> None:
        """Lets a slice sample for so long, from the next on."""
        self._allowed_ns = seconds * 1e9

    @property
    def warm_up(self) -> WarmUp:
        """What preceded the kept samples of this slice, without the first iteration."""
        return self._warm.record

    @property
    def gave_up(self) -> bool:
        """Whether too much was rejected."""
        return self._kept.gave_up

    def next(self) -> Batch | None:
        """The next batch, or None when the slice is over."""
        if self._phase == "first":
            return Batch(iterations=1, samples=1, untimed=0, cold=True)
        if self._phase == "calibrate":
            is_slow = self.first >= _SLOW_SHARE * self._allowed_ns
            samples = 1 if is_slow else _CALIBRATION_SAMPLES
            return Batch(self.iterations, min(samples, self._most_samples))
        if self._phase == "warm up":
            if self._warm.left is not None:
                return self._fixed(self._warm.left)
            return self._batch(self._warm.samples(self._turn_ns))
        if self._phase == "sample":
            return self._batch(self._kept_block_samples())
        return None

    def end(self) -> None:
        """Ends the slice: its time, or that of all who talk at the same time, is over."""
        self._end("time" if self._kept.samples else None)

    def feed(self, batch: Sampled) -> None:
        """Takes the result of the batch that `next` requested, before sampling begins. Where
        replies were lost, there are fewer samples than requested; where all were lost, `next`
        requests the same batch again."""
        self._count(batch)
        times = batch.times
        if self._phase == "warm up":
            self._warm.spend(batch.timed_out)
        if not times.size:
            return
        if self._phase == "first":
            self.first = int(times[0])
            self._phase = "calibrate"
        elif self._phase == "calibrate":
            self._calibrate(times)
        elif self._phase == "warm up":
            self._take_warm(times)
        else:
            raise RuntimeError("warm-up is over")

    def warms_up(self, latest: Sampled) -> bool:
        """Whether `latest`, the result of a batch of samples to keep, is warm-up after all; then
        this takes it, as `feed`. Only the first block of a later slice is, where those who talk at
        the same time do not have all their samples in it."""
        times = latest.times
        if not self._is_warm or self._kept.samples or self._lengths.first >= 1 or not times.size:
            return False
        self._is_warm = False
        if not self._is_too_short(median(times)) and not fades(times, self._ci or TOLERANCE):
            return False
        self._phase = "warm up"
        self.feed(latest)
        return True

    def keep(self, latest: Sampled, kept: Sequence[Sampled], rejected: Sequence[Sampled]) -> None:
        """Takes `latest`, the result of a batch of samples to keep. `kept` are all such batches of
        this slice that count by now, in time order. `rejected` are those that counted until now and
        no longer do, or `latest`, if it does not count."""
        if self._phase != "sample":
            raise RuntimeError("these samples were not requested")
        self._kept.take(kept, rejected)
        if any(batch is latest for batch in rejected):
            if self.gave_up:
                self.end()
            return
        self._count(latest)
        times = latest.times
        if not times.size:
            return
        # The latest samples only: where the path has just slowed down, the next call must not take
        # that much longer.
        self._sample_ns = max(median(times[-_LATEST_SAMPLES:]), 1.0)
        stopped = self._why_stop()
        if stopped is not None:
            self._end(stopped)

    def _end(self, stopped: Stopped | None) -> None:
        """Ends the slice, and lets go of its samples: there may be many configurations."""
        self.stopped = stopped
        self._phase = "done"
        self._kept.forget()
        self._warm.forget()

    def _count(self, batch: Sampled) -> None:
        self._timed_out_ns += batch.timed_out
        self._taken += batch.times.size
        if batch.times.size:
            is_fixed = self._phase == "warm up" and self._warm.left is not None
            is_warm = self._phase in ("warm up", "sample")
            self._means.take(batch.times, 1 if is_fixed else self.iterations, is_warm)

    # How many samples the next batch has.

    @property
    def _turn_ns(self) -> float:
        """The time that it takes to get a sample, timeouts before it included."""
        return self._sample_ns + self._timed_out_ns / max(self._taken, 1)

    @property
    def _most_samples(self) -> int:
        """How many samples of the present number of iterations a batch may have."""
        most = max(1, self._most_iterations / self.iterations)
        return int(min(most, self._most_samples_of_slice))

    @property
    def _longest_samples(self) -> float:
        """How many samples of the present number of iterations the longest call may have."""
        return LONGEST_CALL_NS / max(self._turn_ns, self._means.longest * self.iterations)

    def _batch(self, samples: float) -> Batch:
        most = min(max(1, int(self._longest_samples)), self._most_samples)
        if self._single and self._phase == "sample":
            most = min(most, self._most_samples_of_slice - self._kept.samples)
        keep = self._phase == "sample"
        arrivals = keep and self._arrivals.are_wanted(self.iterations, self._sample_ns)
        ns = self._sample_ns / self.iterations
        may_be_many = keep and self._most_iterations == math.inf
        begins = self._is_warm and not self._kept.samples
        untimed = untimed_iterations(ns, begins) if may_be_many else UNTIMED_ITERATIONS
        count = min(max(1, int(samples)), most)
        return Batch(self.iterations, count, untimed, keep=keep, arrivals=arrivals)

    def _fixed(self, left: int) -> Batch:
        """A batch of a warm-up of which so many iterations are left, each a sample by itself."""
        most = min(self._longest_samples * self.iterations, self._most_iterations)
        return Batch(1, max(1, int(min(left, most, self._most_samples_of_slice))))

    def _kept_block_samples(self) -> float:
        if self._iterations is not None:
            return self._requested - self._kept.samples
        return self._kept.next_ns() / self._turn_ns

    # How many iterations a sample holds.

    def _calibrate(self, times: Times) -> None:
        """Doubles the iterations of a sample until it is long enough to be timed, or holds as many
        as it may."""
        self._warm.count(times, self.iterations)
        shortest = max(float(times.min()), 1.0)  # below a step of the clock it may be 0
        if shortest < self._least_sample_ns and 2 * self.iterations <= self._most_iterations:
            self.iterations *= 2
        else:
            self._set_iterations(shortest / self.iterations)
            self._is_calibrated = True

    def _set_iterations(self, ns: float) -> None:
        """Sets how many iterations, of `ns` each, a sample holds, and begins warm-up."""
        needed = 1
        if ns < self._least_sample_ns:
            needed = math.ceil(max(self._least_sample_ns, _LEAST_SEVERAL_NS) / ns)
            needed = int(min(needed, self._most_iterations))
        count = self._iterations
        if count is None:
            # Not fewer than in the slices before: samples stay as long as they were.
            least = self.iterations if self._is_calibrated else 1
            self.iterations = max(needed, self._fewest_iterations(ns), least)
        else:
            # All samples hold the same number: a count that they do not divide is rounded up.
            fewest = math.ceil(count / self._most_iterations)
            most = self._most_samples_of_slice
            self._requested = max(min(max(1, count // needed), most), fewest)
            self.iterations = 1 if self._single else math.ceil(count / self._requested)
            # With whole samples no more of them than reach the count.
            self._requested = min(self._requested, math.ceil(count / self.iterations))
        self._sample_ns = max(ns * self.iterations, 1.0)
        self._phase = "warm up"
        if self._warm.left == 0 or self._is_warm:
            self._start_sampling()

    def _fewest_iterations(self, ns: float) -> int:
        """How many iterations of `ns` a sample has to hold so that a slice has no more samples than
        it may; 1 where it may hold no more."""
        fewest = math.ceil(self._allowed_ns / ns / self._most_samples_of_slice)
        return 1 if self._single else int(min(fewest, self._most_iterations))

    # Warm-up.

    def _take_warm(self, times: Times) -> None:
        if self._warm.left is not None:
            self._take_fixed(times)
            return
        self._warm.count(times, self.iterations)
        self._warm.spend(float(times.sum()))
        self._sample_ns = max(median(times), 1.0)
        if self._is_too_short(self._sample_ns):
            self._lengthen_samples()
        elif self._warm.is_guess:
            self._warm.is_guess = False
        else:
            self._warm.look(times)
        if self._warm.is_over:
            self._start_sampling()

    def _is_too_short(self, ns: float) -> bool:
        """Whether samples that take `ns` have to hold more iterations, and may."""
        return ns < self._least_sample_ns and self.iterations < self._most_iterations

    def _take_fixed(self, times: Times) -> None:
        self._warm.count(times, 1)
        self._warm.count_fixed(times.size)
        # The time of an iteration is known better now than when it was calibrated.
        ns = max(float(times.mean()), 1.0)
        if self._warm.is_over:
            self._set_iterations(ns)
        else:
            self._sample_ns = ns * self.iterations

    def _lengthen_samples(self) -> None:
        """Calibrates again, as the first calibration was of a cold path."""
        # Below a step of the clock nothing can be timed. This ends: the number of iterations grows
        # each time.
        timed = max(self._sample_ns, self._least_sample_ns * CLOCK_SHARE)
        before = self.iterations
        self._set_iterations(timed / before)
        self._warm.forget()
        # A sample may last much longer than that: a block of the usual number of samples could take
        # all the time for warm-up.
        self._warm.is_guess = self.iterations > before

    def _start_sampling(self) -> None:
        if self._iterations is None:
            # The time of an iteration is known better now than when it was calibrated.
            ns = self._sample_ns / self.iterations
            self.iterations = max(self.iterations, self._fewest_iterations(ns))
            self._sample_ns = ns * self.iterations
        self._phase = "sample"

    # Sampling.

    def _why_stop(self) -> Stopped | None:
        is_full = self._single and self._kept.samples >= self._most_samples_of_slice
        if self._iterations is not None:
            if self._kept.samples < self._requested:
                return None
            is_short = is_full and self._iterations > self._most_samples_of_slice
            return "full" if is_short else "count"
        is_over = self._kept.ns + self._sample_ns / 2 >= self._allowed_ns
        if self._kept.have_converged(is_last=is_over or is_full):
            return "converged"
        if is_over:
            return "time"
        return "full" if is_full else None
