"""As the ping-pong of mpi4py-ve prints: its arguments, and a table. Its "GB/s" is 2^30 bytes per
second."""

from __future__ import annotations

from halftrip.report.document import Document
from halftrip.report.styles.figures import (
    Curve,
    cells,
    curves,
    fact,
    mean,
    measured_by,
    measurements,
)

TOOL = "mpi4py-ve"
NAMES = ("Data Size (B)", "Avg Transfer Time (s)", "Bandwidth (GB/s)")
HEADING = f"| {' | '.join(NAMES)} |"
_WIDTHS = (15, 23, 18)
RULE = f"|{'|'.join('-' * width for width in _WIDTHS)}|"
_DEVICES = {"host": "vh"}


def render(document: Document) -> str:
    """A table for each curve. Raises UsageError for a run without a ping-pong."""
    found = curves(
        document, TOOL, lambda each: each.pattern == "pingpong" and each.directions == 1,
        "ping-pong", "-p pingpong -n 2",
    )  # fmt: skip
    # The tool's own tables as they were printed; ours with the host's memory first, as it has them.
    found.sort(key=lambda curve: 0 if curve.source is not None else _devices(curve))
    has_titles = len(found) > 1
    tables = (_table(document, each, has_titles) for each in found)
    return "\n".join("".join(f"{line}\n" for line in each) for each in tables)


def _devices(curve: Curve) -> int:
    """How many of the ends are in another memory than the host's."""
    return sum(end.memory not in _DEVICES for end in curve.configuration.ends)


def _table(document: Document, curve: Curve, has_title: bool) -> list[str]:
    source = curve.source
    if source is not None and source.tool == TOOL:
        said = [source.facts[name] for name in ("title",) if name in source.facts]
        said += [f"$ {source.facts['command']}"] if "command" in source.facts else []
        rows = [cells(row, TOOL, NAMES) for row in curve.rows]
        moved = ["", source.facts["moved"]] if "moved" in source.facts else []
        return [*said, *_lines(fact(source, "arguments"), rows), *moved]
    rows, loops = [], set()
    for row in curve.rows:
        found = measurements(document, row)
        seconds = mean(found) / 1e9
        rate = row.configuration.size / seconds / (1 << 30) if seconds > 0 else 0.0
        rows.append([str(row.configuration.size), f"{seconds:.9f}", f"{rate:.9f}"])
        loops.add(sum(each.samples.size * each.iterations for each in found))
    devices = [_DEVICES.get(end.memory, end.memory) for end in curve.configuration.ends]
    # Rows of a time, and not of a count, have their own number of iterations each: the least.
    arguments = (
        f"{{'dev1': {devices[0]!r}, 'dev2': {devices[1]!r}, 'n': {len(rows)}, "
        f"'loop_count': {min(loops)}}}"
    )
    title = f"Measured by {measured_by(document, curve)} with {curve.says()}::"
    return [*([title] if has_title else []), *_lines(arguments, rows)]


def _lines(arguments: str, rows: list[list[str]]) -> list[str]:
    made = [
        f"|{'|'.join(f'{cell:>{width}s}' for cell, width in zip(row, _WIDTHS, strict=True))}|"
        for row in rows
    ]
    return [arguments, HEADING, RULE, *made, RULE]
