"""What MPI adds to the path that it uses, in words: of a run of MPI, shared memory and TCP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halftrip.analysis.chosen_path import Path, mpi_path, transport_below
from halftrip.analysis.like_states import alike
from halftrip.analysis.rows import LARGE, Row
from halftrip.report.document import Document
from halftrip.report.numbers import mark
from halftrip.stats.estimate import Estimate, difference
from halftrip.units import significant, size_in_words

# The paths that MPI may use between two ranks, the shorter one first.
_BELOW: tuple[Path, ...] = ("shm", "tcp")
# The libraries that it may use them by.
_LIBRARIES = ("ucx", "libfabric")
_ADDS = "what MPI adds to {}"
_SMALL = 8
# Two paths whose times differ by less tell nothing about which of them MPI uses.
_FAR_APART = 4.0

# The fastest row of each size.
_BySize = dict[int, Row]


def lines(document: Document) -> list[str]:
    """What MPI adds to a small and to a large message over the library and the path that it uses,
    where that is known and was measured; how it is beside a library that it may use; and, where it
    seems to use a longer path than it might, that it does. Nothing where the run has other
    transports, several pairs, or no ping-pong of both."""
    rows = [
        row
        for row in document.latency_rows
        if row.configuration.shape.replies and not row.configuration.delay
    ]
    names = {row.configuration.transport for row in document.rows}
    pairs = {row.configuration.pair for row in document.rows}
    if "mpi" not in names or not names <= {"mpi", *_LIBRARIES, *_BELOW} or len(pairs) > 1:
        return []
    mpi, shm, tcp = (_best(rows, name) for name in ("mpi", *_BELOW))
    below = transport_below(each for each in document.run.carriers if each.transport == "mpi")
    said = []
    for name in _LIBRARIES:
        other = "" if below is None else ", by which it does not go"
        whose = _ADDS.format(name) if below == name else f"MPI beside {name}{other}"
        said += _added(mpi, _best(rows, name), whose)
    said += _path_used(mpi, shm, tcp)
    path = mpi_path(document.run) or _path_by_times(mpi, shm, tcp)
    if path is None:
        return said
    return [*_added(mpi, shm if path == "shm" else tcp, _ADDS.format(path)), *said]


def _added(mpi: _BySize, below: _BySize, whose: str) -> list[str]:
    """What MPI adds to what is below it, or beside: rows are compared that were in the same
    state."""
    both = {size: alike(_states(mpi[size]), _states(below[size])) for size in {*mpi} & {*below}}
    common = {size: rows for size, rows in both.items() if rows is not None}
    if not common:
        return []
    small = _SMALL if _SMALL in common else min(common)
    parts = [_of_time(*common[small])]
    largest = max(common)
    if largest > small and largest >= LARGE:
        parts.append(_of_bandwidth(*common[largest]))
    return [f"{whose}: {'; '.join(parts)}"]


def _states(row: Row) -> tuple[Row, ...]:
    return (row, *row.others)


def _in_state(rows: Iterable[Row]) -> str:
    """The state that rows are in, in a sentence; empty where it does not matter."""
    return next((f", {row.state.word}," for row in rows if row.state), "")


def _best(rows: Sequence[Row], transport: str) -> _BySize:
    """The fastest row of each size: a transport may have several ways to wait."""
    found: dict[int, Row] = {}
    for row in rows:
        configuration = row.configuration
        if configuration.transport != transport or not configuration.size_known:
            continue
        before = found.get(configuration.size)
        faster = before is None or row.summary.latency < before.summary.latency
        if row.summary.latency > 0 and faster:
            found[configuration.size] = row
    return found


def _of_time(upper: Row, lower: Row) -> str:
    """What is added to the time of a small message."""
    times = _us(upper), _us(lower)
    both = f"{_figure(times[0], upper)} us, without MPI {_figure(times[1], lower)} us"
    size = size_in_words(upper.configuration.size) + _in_state((upper, lower))
    added = difference(*times)
    if not added.is_apart_from(0.0):
        return f"a message of {size} takes {both}, which is not told apart"
    word = "more" if added.value > 0 else "less"
    amount = significant(abs(added.value), 2)
    ratio = times[0].value / times[1].value
    times_as = f"{significant(max(ratio, 1 / ratio), 2)} times as {'long' if ratio > 1 else 'fast'}"
    return f"a message of {size} takes {amount} us {word} ({both}: {times_as})"


def _of_bandwidth(upper: Row, lower: Row) -> str:
    """What is lost of the bandwidth of large messages."""
    times = _us(upper), _us(lower)
    size = size_in_words(upper.configuration.size) + _in_state((upper, lower))
    rates = [
        f"{significant(row.summary.bandwidth / 1e9, 3)}{mark(row)} GB/s" for row in (upper, lower)
    ]
    both = f"{rates[0]}, without MPI {rates[1]}"
    if not difference(*times).is_apart_from(0.0):
        return f"messages of {size} have {both}, which is not told apart"
    change = 100 * (upper.summary.bandwidth / lower.summary.bandwidth - 1)
    word = "more" if change > 0 else "less"
    return f"messages of {size} have {significant(abs(change), 2)} % {word} bandwidth ({both})"


def _smallest(*paths: _BySize) -> list[Row] | None:
    """The rows of a small message by each path; None where one has none."""
    common = set.intersection(*map(set, paths))
    if not common:
        return None
    size = _SMALL if _SMALL in common else min(common)
    return [path[size] for path in paths]


def _are_far_apart(lower: Row, upper: Row) -> bool:
    """Whether the one takes several times as long as the other, as far as their intervals tell."""
    return upper.summary.low > _FAR_APART * lower.summary.high


def _path_by_times(mpi: _BySize, shm: _BySize, tcp: _BySize) -> Path | None:
    """The path of a small message that only shared memory is fast enough for. That MPI is as slow
    as a socket does not tell that it uses one."""
    every, both = _smallest(mpi, shm, tcp), _smallest(mpi, shm)
    if every is not None and _are_far_apart(every[1], every[2]):
        own, low, high = (row.summary for row in every)
        return "shm" if own.high**2 < low.low * high.low else None
    spins = all(row.configuration.both_ends("wait") == "spin" for row in shm.values())
    is_fast = both is not None and both[0].summary.latency <= _FAR_APART * both[1].summary.latency
    return "shm" if is_fast and spins else None


def _path_used(mpi: _BySize, shm: _BySize, tcp: _BySize) -> list[str]:
    """Which of two paths MPI seems to use, by the times of a small message; nothing where they are
    about as long."""
    found = _smallest(mpi, shm, tcp) or _smallest(mpi, tcp)
    if found is None:
        return []
    own, *below, socket = found
    slow = _figure(_us(socket), socket)
    if all(_are_far_apart(row, socket) for row in (own, *below)):
        return [f"MPI does not go through a socket, which would take {slow} us (tcp)"]
    for shared in below:
        is_slow = own.summary.low**2 > shared.summary.high * socket.summary.high
        if is_slow and _are_far_apart(shared, socket):
            said = "its ranks do not seem to use shared memory"
            hint = "look at the settings of its transports"
            return [f"MPI is as slow as a socket (tcp: {slow} us): {said}; {hint}"]
    return []


def _us(row: Row) -> Estimate:
    """The one-way time of a message, us."""
    return row.summary.time.scaled(1e-3)


def _figure(time: Estimate, row: Row) -> str:
    return f"{significant(time.value, 3)}{mark(row)}"
