"""As a report on one box and two boxes says it: the average time of one integer of 4 bytes and of
so many, s one way, in a sentence; below it every size that was measured."""

from __future__ import annotations

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.report.styles.figures import Curve, cells, curves, mean, measurements
from halftrip.results.configuration import Configuration

TOOL = "one-box"
INT_BYTES = 4
_TIME = "time (s)"
_FEWEST_SIZES = 2


def render(document: Document) -> str:
    """A paragraph and a table for each curve. Raises UsageError for a run without a ping-pong of
    whole integers."""
    found = curves(
        document, TOOL, _is_of_ints, "ping-pong of integers, 4 bytes each",
        "halftrip run one-box-two-boxes, or -p pingpong -s 4..4000+4",
    )  # fmt: skip
    return "\n".join("".join(f"{line}\n" for line in _lines(document, each)) for each in found)


def _is_of_ints(configuration: Configuration) -> bool:
    whole = configuration.size > 0 and configuration.size % INT_BYTES == 0
    return configuration.pattern == "pingpong" and configuration.directions == 1 and whole


def _lines(document: Document, curve: Curve) -> list[str]:
    times = {row.configuration.size // INT_BYTES: _seconds(document, row) for row in curve.rows}
    ints = list(times)
    said = f"on average {times[ints[0]]} s for {_ints(ints[0])}"
    if len(ints) > 1:
        said += f", and {times[ints[-1]]} s for {_ints(ints[-1])}"
    command = curve.source.facts.get("command") if curve.source is not None else None
    how = f'By running "{command}"' if command else f"Over {curve.configuration.transport}"
    lines = [_boxes(document, curve), "", f"{how}, integers take {said}."]
    if len(ints) > _FEWEST_SIZES:
        lines += ["", "ints\tseconds", *(f"{n}\t{time}" for n, time in times.items())]
    return lines


def _boxes(document: Document, curve: Curve) -> str:
    """Where both ranks ran, as a heading."""
    known = dict(curve.configuration.variant).get("boxes")
    if known is not None:
        return known
    hosts = document.run.names.hosts
    pair = [hosts.get(rank) for rank in curve.configuration.pair]
    return "Two Boxes" if pair[0] != pair[1] else "One Box"


def _ints(count: int) -> str:
    return "one int" if count == 1 else f"{count:,} ints"


def _seconds(document: Document, row: Row) -> str:
    """The time of a message as it was printed, or with three digits: ``1.44E-4``."""
    if row.source is not None and row.source.tool == TOOL:
        return cells(row, TOOL, (_TIME,))[0]
    mantissa, _, exponent = f"{mean(measurements(document, row)) / 1e9:.2E}".partition("E")
    return f"{mantissa.rstrip('0').rstrip('.')}E{int(exponent)}"
