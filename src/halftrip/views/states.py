"""What is said of the states of the machine, and for what intervals speak."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.analysis.curves import MeasuredCurve
from halftrip.analysis.flags.flag import counted
from halftrip.analysis.rows import Row
from halftrip.analysis.states import HostStates, RunStates, State
from halftrip.stats.levels import Level

# How to have the same states in two runs.
BOTH_STATES = "--placement-state near, or far, measures one state; more --launches see several"
# A quantity that wanders by more than this factor has no single value.
_WANDERS = 2.0
# The states of more hosts fill the screen.
_MOST_HOSTS = 2


def are_several(states: RunStates) -> bool:
    """Whether any host has several states."""
    return any(each.states for each in states.hosts)


def heading(states: RunStates) -> list[str]:
    """The states of each host, as a part of a heading: ``core-to-core 92 ns``, or
    ``core-to-core 92 ns (61 % of the run) and 278 ns, changed 14 times``. Of a simulated path only
    where it has several."""
    found = [each for each in states.hosts if each.states or not each.is_simulated]
    hosts = {each.host for each in found}
    if len(hosts) > _MOST_HOSTS:
        found = [each for each in found if each.states]
    if len(found) > _MOST_HOSTS:
        return [f"several states on {len(found)} hosts"]
    return [_of_host(each, len(hosts) > 1) for each in found]


def _of_host(found: HostStates, named: bool) -> str:
    where = f" on {found.host}" if named and found.host is not None else ""
    by_share = sorted(found.levels, key=lambda level: -level.share)
    texts = [_text(found, level) for level in by_share]
    said = f"{found.quantity.name}{where} {texts[0]}"
    if len(texts) == 1:
        return said
    said += f" ({100 * by_share[0].share:.0f} % of the run)"
    said += "".join(f", {text}" for text in texts[1:-1])
    times = "once" if found.changes == 1 else f"{found.changes:,} times"
    return f"{said} and {texts[-1]}, changed {times}"


def _text(found: HostStates, level: Level) -> str:
    quantity = found.quantity
    if level.high <= _WANDERS * level.low:
        return quantity.text(level.middle)
    return f"{level.low:.0f} to {quantity.text(level.high)}"


def words(rows: Sequence[Row]) -> str:
    """What the words for states mean that these rows have; empty where none has any."""
    found = {row.state.word: row.state for row in rows if row.state is not None}
    if not found:
        return ""
    ordered = sorted(found.values(), key=lambda state: state.value)
    said = ", ".join(
        f"{state.word}: while {state.quantity.name} was at {state.quantity.text(state.value)}"
        for state in ordered
    )
    if any(row.state is None for row in rows):
        said += "; rows without such a word are of all slices"
    return f"{said}."


def held_most(rows: Sequence[Row]) -> str:
    """Of which state figures are that have no column for it, and no word; empty where the times of
    no row go with one."""
    found = {row.state.word: row.state for row in rows if row.state is not None}
    said = [
        f"{each.word} ({each.quantity.name} at {each.quantity.text(each.value)})"
        for each in sorted(found.values(), key=lambda state: state.value)
    ]
    what = "Figures" if all(row.state for row in rows) else "Those that go with the machine's state"
    return f"{what} are of the state that held most: {', '.join(said)}." if said else ""


def other_states(rows: Sequence[Row]) -> str:
    """How many rows have figures in other states, too; empty where none has."""
    several = sum(bool(row.others) for row in rows)
    if not several:
        return ""
    has = "1 row has" if several == 1 else f"{several} rows have"
    return f"{has} figures in other states, too: --details."


def over(rows: Sequence[Row]) -> str:
    """What the intervals of rows are over, and for what they do not speak."""
    several = [row.launches > 1 for row in rows]
    in_state = " in that state" if any(row.state is not None for row in rows) else ""
    alone = "which says nothing about another launch"
    # One that was cut short, or found the machine busy, does not count beside the others.
    few = any(row.measured.times.cut_short for row in rows)
    launches = f"launches{in_state}{' that have enough slices' if few else ''}"
    if all(several):
        return f"over {launches}"
    if not any(several):
        one = f"launch{in_state}{' that has enough of them' if few else ''}"
        return f"over slices of the only {one}, {alone}"
    return f"over {launches}; of a row with one, over its slices, {alone}"


def in_state(state: State) -> str:
    """That times are of this state of the machine alone."""
    text = state.quantity.text(state.value)
    return f"times are those while {state.quantity.what} {state.word} ({text})"


def of_curve(curve: MeasuredCurve) -> str | None:
    """In which state of the machine the times of a curve were measured; None if it is of all."""
    if curve.state is None:
        return None
    said = in_state(curve.state)
    if not curve.elsewhere:
        return said
    return f"{said}, in which {counted(curve.elsewhere, 'size')} of the curve were not measured"
