"""What MPI adds to the path below it, in words: of a run of MPI, shared memory and TCP alone."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.analysis.rows import LARGE, Row
from halftrip.report.document import Document
from halftrip.report.numbers import mark
from halftrip.stats.estimate import Estimate, difference
from halftrip.units import significant, size_in_words

# The paths that MPI may use between two ranks, the shorter one first.
_BELOW = ("shm", "tcp")
_SMALL = 8
# Two paths whose times differ by less tell nothing about which of them MPI uses.
_FAR_APART = 4.0


def lines(document: Document) -> list[str]:
    """What MPI adds to a small and to a large message over the shorter path below it that was
    measured, and where MPI seems to use the longer one, that it does. Nothing where the run has
    other transports, several pairs, or no ping-pong of both."""
    rows = [
        row
        for row in document.latency_rows
        if row.configuration.shape.replies and not row.configuration.delay
    ]
    names = {row.configuration.transport for row in document.rows}
    pairs = {row.configuration.pair for row in document.rows}
    if "mpi" not in names or not names <= {"mpi", *_BELOW} or len(pairs) > 1:
        return []
    of = {name: _best(rows, name) for name in ("mpi", *_BELOW)}
    below = next((name for name in _BELOW if of["mpi"].keys() & of[name].keys()), None)
    if below is None:
        return []
    common = sorted(of["mpi"].keys() & of[below].keys())
    small = _SMALL if _SMALL in common else common[0]
    parts = [_of_time(of["mpi"][small], of[below][small])]
    if common[-1] > small and common[-1] >= LARGE:
        parts.append(_of_bandwidth(of["mpi"][common[-1]], of[below][common[-1]]))
    said = [f"what MPI adds to {below}: {'; '.join(parts)}"]
    if below == "shm" and small in of["tcp"]:
        said += _path_used(of["mpi"][small], of["shm"][small], of["tcp"][small])
    return said


def _best(rows: Sequence[Row], transport: str) -> dict[int, Row]:
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
    size = size_in_words(upper.configuration.size)
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
    size = size_in_words(upper.configuration.size)
    rates = [
        f"{significant(row.summary.bandwidth / 1e9, 3)}{mark(row)} GB/s" for row in (upper, lower)
    ]
    both = f"{rates[0]}, without MPI {rates[1]}"
    if not difference(*times).is_apart_from(0.0):
        return f"messages of {size} have {both}, which is not told apart"
    change = 100 * (upper.summary.bandwidth / lower.summary.bandwidth - 1)
    word = "more" if change > 0 else "less"
    return f"messages of {size} have {significant(abs(change), 2)} % {word} bandwidth ({both})"


def _path_used(mpi: Row, shm: Row, tcp: Row) -> list[str]:
    """Which of two paths MPI seems to use, by the times of a small message; nothing where they are
    about as long."""
    times = [row.summary.latency for row in (mpi, shm, tcp)]
    if not times[2] > _FAR_APART * times[1]:
        return []
    slow = significant(times[2] / 1e3, 3)
    if times[0] ** 2 > times[1] * times[2]:
        said = "its ranks do not seem to use shared memory; look at the settings of its transports"
        return [f"MPI is as slow as a socket (tcp: {slow} us): {said}"]
    return [f"MPI does not go through a socket, which would take {slow} us (tcp)"]


def _us(row: Row) -> Estimate:
    """The one-way time of a message, us."""
    return row.summary.time.scaled(1e-3)


def _figure(time: Estimate, row: Row) -> str:
    return f"{significant(time.value, 3)}{mark(row)}"
