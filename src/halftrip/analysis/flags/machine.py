"""Flags that the machine raises: where ranks ran, and what it could not have been."""

from __future__ import annotations

from halftrip.analysis.flags.flag import Evidence, Flag, us
from halftrip.results.patterns import is_in_turn
from halftrip.results.records import Environment
from halftrip.stats.main_state import rtt_states
from halftrip.units import format_size, significant

# What is measured at another moment differs by so much without meaning anything.
_SLACK = 1.25


def ranks_of(e: Evidence) -> list[Environment]:
    return [environment for environment in e.run.environments if environment.rank in e.case.pair]


def above_bound(e: Evidence) -> Flag | None:
    """No message comes sooner than a cache line, and none faster than memory is copied."""
    rtts = [rtt for m in e.measurements for rtt in m.cache_line_rtts]
    if rtts and _crosses_once(e):
        trips = 1 if is_in_turn(e.case.pattern, e.case.mode) else 2
        half = min(rtts) / 2
        if e.summary.latency * trips < half / _SLACK:
            return Flag(
                "above-bound",
                f"{us(e.summary.latency)} one way, where a cache line alone takes {us(half)}",
                "doubt the clock, the cores that the line was probed on, or what is counted",
            )
    copies = {copy.size: copy.size / copy.ns for copy in e.run.copy_times if copy.ns > 0}
    if (
        not copies
        or not e.case.size
        or e.case.is_simulated
        or not e.measurements[0].cache_line_rtts
    ):
        return None
    fastest = max(copies.values())
    rate = e.summary.bandwidth / 1e9
    # Of no time there is no rate, which is NaN.
    if not rate > _SLACK * fastest:
        return None
    return Flag(
        "above-bound",
        f"{significant(rate, 3)} GB/s, where memory is copied at {significant(fastest, 3)} GB/s at "
        f"best ({format_size(max(copies, key=lambda size: copies[size]))})",
        "look whether the payload is touched at all; --verify tells whether it arrives",
    )


def _crosses_once(e: Evidence) -> bool:
    """Whether every exchange waits for at least one line to cross."""
    return e.case.window == 1 and e.case.mode != "onesided"


def other_state(e: Evidence) -> Flag | None:
    """With --placement-state: what was measured before the wanted state was met."""
    wanted = e.run.header.plan.get("placement_state")
    if wanted is None:
        return None
    # A line that is only thought of says nothing of one that is there.
    alike = [
        m
        for m in e.run.measurements
        if m.case.pair == e.case.pair and m.case.is_simulated == e.case.is_simulated
    ]
    known = rtt_states([m.series for m in alike])
    if not known:
        return None
    state = known[0 if wanted == "near" else -1]
    if all(state.has(end) for other in e.times.states for end in other):
        return None
    return Flag(
        "other-state",
        f"measured before it was known that the line can take {state.low:.0f} to "
        f"{state.high:.0f} ns, which is {wanted}",
        "measure it again, or in more repetitions",
    )


def unpinned(e: Evidence) -> Flag | None:
    ranks = ranks_of(e)
    loose = [environment.rank for environment in ranks if environment.core is None]
    if not loose:
        return None
    return Flag(
        "unpinned",
        f"rank {loose[0]} could move from core to core",
        "leave out --cores none: ranks pin themselves, or name cores",
    )


def oversubscribed(e: Evidence) -> Flag | None:
    ranks = ranks_of(e)
    shared = [environment for environment in ranks if environment.oversubscribed]
    if not shared:
        return None
    other = "rank" if shared[0].thread_cores is None else "rank, or one of its threads with another"
    core = "its cores" if shared[0].core is None else f"core {shared[0].core}"
    return Flag(
        "oversubscribed",
        f"rank {shared[0].rank} shares {core} with another {other}",
        "use no more ranks than cores; what is measured here is the scheduler",
    )
