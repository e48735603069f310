"""Flags: why a row should not be trusted as it stands, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.model import Environment, Measurement, Run
from halftrip.summaries import line_states, summarize_case
from halftrip.units import significant

# A width that differs from the target by no more than this share of it is rounding.
_ROUNDING = 1e-9

# Warm-up compares three blocks of eight samples: where a case takes fewer, it could not.
_FEWEST_JUDGED = 24


class Flag(NamedTuple):
    """A reason to doubt a row: its name, what was seen, and what to do."""

    name: str
    seen: str
    advice: str


def flags(run: Run, measurements: Sequence[Measurement]) -> tuple[Flag, ...]:
    """The flags of one case; `measurements` are its repetitions in `run`."""
    pair = measurements[0].case.pair
    ranks = [environment for environment in run.environments if environment.rank in pair]
    found = [
        _not_converged(run, measurements),
        _drift(measurements),
        _other_state(run, measurements),
        _unpinned(ranks),
        _oversubscribed(ranks),
    ]
    return tuple(flag for flag in found if flag is not None)


def _not_converged(run: Run, measurements: Sequence[Measurement]) -> Flag | None:
    target = run.head.plan.get("ci")
    if not isinstance(target, float):
        return None
    wanted = f"{significant(target * 100, 2)} %"
    if any(m.stopped == "time" for m in measurements):
        return Flag(
            "not-converged",
            f"the time was up before the interval was within {wanted}",
            "allow more time with --time, or ask for less with --ci",
        )
    summary = summarize_case(measurements)
    width = max(summary.high - summary.latency, summary.latency - summary.low) / summary.latency
    # Of too few samples there is no interval, and the width is no number.
    is_wide = width > target * (1 + _ROUNDING)
    if is_wide and any(m.stopped == "full" for m in measurements):
        return Flag(
            "not-converged",
            f"all samples that are kept came before the interval was within {wanted}",
            "take more repetitions, or ask for less with --ci",
        )
    if is_wide:
        return Flag(
            "not-converged",
            f"each repetition came within {wanted}, all of them only within "
            f"{significant(width * 100, 2)} %",
            "compare the repetitions (their lines, if virtual cores move), and take more of them",
        )
    return None


def _drift(measurements: Sequence[Measurement]) -> Flag | None:
    restless = [
        m.warm_up
        for m in measurements
        if not m.warm_up.settled and len(m.samples) >= _FEWEST_JUDGED
    ]
    if not restless:
        return None
    return Flag(
        "drift",
        f"after {significant(restless[0].ns / 1e6)} ms of warm-up the times still changed",
        "allow more time with --time; look for what else this machine is doing",
    )


def _other_state(run: Run, measurements: Sequence[Measurement]) -> Flag | None:
    wanted = run.head.plan.get("placement_state")
    case = measurements[0].case
    # A line that is only thought of says nothing of one that is there.
    alike = [
        m
        for m in run.measurements
        if m.case.pair == case.pair and m.case.is_virtual == case.is_virtual
    ]
    known = line_states(alike) if wanted else []
    if not known:
        return None
    state = known[0 if wanted == "near" else -1]
    here = line_states(measurements)
    if all(state.has(end) for other in here for end in other):
        return None
    return Flag(
        "other-state",
        f"measured before it was known that the line can take {state.low:.0f} to "
        f"{state.high:.0f} ns, which is {wanted}",
        "measure it again, or in more repetitions",
    )


def _unpinned(ranks: Sequence[Environment]) -> Flag | None:
    loose = [environment.rank for environment in ranks if environment.core is None]
    if not loose:
        return None
    return Flag(
        "unpinned",
        f"rank {loose[0]} could move from core to core",
        "leave out --cores none: ranks pin themselves, or name cores",
    )


def _oversubscribed(ranks: Sequence[Environment]) -> Flag | None:
    shared = [environment for environment in ranks if environment.oversubscribed]
    if not shared:
        return None
    core = "its cores" if shared[0].core is None else f"core {shared[0].core}"
    return Flag(
        "oversubscribed",
        f"rank {shared[0].rank} shares {core} with another rank",
        "use no more ranks than cores; what is measured here is the scheduler",
    )
