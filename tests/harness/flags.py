"""What tests of flags share: rows whose times are known, and what their flags and verdicts say."""

import numpy as np

from halftrip.analysis.flags import NAMES
from halftrip.analysis.rows import rows
from harness import runs

# The usual one-way time, ns.
HALF_NS = 10_000.0


def flags_of(run):
    """The flags of each row, by configuration."""
    return {row.configuration: row.flags for row in rows(run)}


def verdicts_of(run):
    """The verdict on each row, by configuration."""
    return {row.configuration: row.verdict for row in rows(run, flags=False)}


def verdict_of(*measurements, **changes):
    """The verdict on the row of the first measurement; `changes` are fields of the run."""
    return verdicts_of(runs.run(*measurements, **changes))[measurements[0].configuration]


def seen(*measurements, ci=None, **changes):
    """What each flag of the first measurement's row says, by name; `changes` are fields of the
    run. With `ci`, rows should be within that share of their median."""
    run = runs.run(*measurements, **changes)
    if "header" not in changes:
        run.header.plan["ci"] = "none" if ci is None else ci
    found = flags_of(run)[measurements[0].configuration]
    assert all(flag.advice for flag in found)
    assert [flag.name for flag in found] == sorted((flag.name for flag in found), key=NAMES.index)
    return {flag.name: flag.seen for flag in found}


def pingpong(times, half_ns=HALF_NS, **changes):
    """A ping-pong whose samples are single round trips of these one-way times, ns."""
    samples = [round(2 * float(time)) for time in times]
    values = {"iterations": 1, "samples": samples, "first": round(2 * half_ns)}
    return runs.measurement(half_ns=half_ns, **(values | changes))


def through(pattern, ns, window=1, size=1024, **changes):
    """The slices of a row in which a message takes `ns`, `window` of them in flight."""
    kind = {"pattern": pattern, "window": window, **changes}
    messages = runs.configuration(size=size, **kind).messages_per_iteration
    return [
        runs.measurement(
            size=size, half_ns=ns, iterations=1, samples=np.rint(noise(40, k, ns) * messages),
            rtts=None, slice=k, **kind,
        )
        for k in range(6)
    ]  # fmt: skip


def dealt(make, k=10, **changes):
    """The slices of a configuration: `make` makes the times of each from its number, ns."""
    return [pingpong(make(number), slice=number, **changes) for number in range(k)]


def noise(n=400, seed=1, middle=HALF_NS):
    """Independent times with a standard deviation of half a percent, ns."""
    return np.random.default_rng(seed).normal(middle, 0.005 * middle, n)


def rising(share, n=400, seed=1):
    """Times with a linear trend, in all by this share of the median, ns."""
    return noise(n, seed) * (1 + share * (np.arange(n) / n - 0.5))
