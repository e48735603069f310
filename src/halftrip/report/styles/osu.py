"""As the OSU micro-benchmarks print: osu_latency, osu_bw and osu_bibw of version 7.4.

Latency is the mean of half round trips, 1 MB is 10^6 bytes. The tails of a bandwidth are those of
the windows, the best at P99.
"""

from __future__ import annotations

import re

import numpy as np

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.report.styles.figures import (
    Curve,
    cells,
    curves,
    fact,
    mean,
    measured_by,
    measurements,
    single_times,
)
from halftrip.results.configuration import Configuration
from halftrip.results.reported import Source

TOOL = "osu"
_VERSION = "7.4"
# Of osu_bw and osu_bibw, unless they are told otherwise.
_WINDOW = 64
_TITLES = {
    "pingpong": "Latency",
    "stream": "Bandwidth",
    "bidirectional": "Bi-Directional Bandwidth",
}
_SHARES = (0.5, 0.9, 0.99)
_NAMES = ("P50", "P90", "P99")


def columns(heading: str) -> list[str]:
    """The names of the columns in a heading. The tails of a bandwidth have a single space before
    them, as wide as their columns are."""
    return re.split(r"\s{2,}|\s(?=P\d[\d.]* Tail )", heading.removeprefix("# ").strip())


def render(document: Document) -> str:
    """A table for each curve. Raises UsageError for a run without one."""
    found = curves(
        document, TOOL, _is_osu, "ping-pong, stream or bidirectional stream", "-p pingpong,stream"
    )
    return "\n".join(_table(document, curve) for curve in found)


def _is_osu(configuration: Configuration) -> bool:
    return configuration.pattern in _TITLES and configuration.directions == (
        2 if configuration.pattern == "bidirectional" else 1
    )


def _table(document: Document, curve: Curve) -> str:
    source = curve.source
    if source is not None and source.tool == TOOL:
        return _as_it_was(curve, source)
    is_latency = curve.configuration.pattern == "pingpong"
    verified = curve.configuration.verify
    tails = [_tails(document, row) for row in curve.rows]
    known = [each for each in tails if each is not None]
    # What reads these tables expects either the results of a validation or all three tails.
    has_tails = not verified and len(known) == len(tails)
    lines = [
        f"# OSU MPI {_TITLES[curve.configuration.pattern]} Test v{_VERSION}",
        f"# Datatype: {_datatype(curve.configuration)}.",
        f"# Measured by {measured_by(document, curve)}: {curve.says()}",
    ]
    if curve.configuration.window not in (1, _WINDOW):
        # As osu_mbw_mr says it; osu_bw says nothing of the window that it was given.
        lines.append(f"# [ pairs: 1 ] [ window size: {curve.configuration.window} ]")
    lines.append(_heading(is_latency, verified, has_tails))
    for row, of_row in zip(curve.rows, tails, strict=True):
        figures = [f"{_figure(document, row):.2f}", *["Pass"] * verified]
        if has_tails:
            figures += [f"{value:.2f}" for value in of_row or ()]
        width = _width(len(figures))
        lines.append(
            f"{row.configuration.size:<10d}" + "".join(f"{each:>{width}s}" for each in figures)
        )
    return "".join(f"{line}\n" for line in lines)


def _datatype(configuration: Configuration) -> str:
    names = {"byte": "MPI_CHAR", "contiguous": "MPI_CHAR contiguous", "vector": "MPI_CHAR vector"}
    return names[configuration.datatype]


def _heading(is_latency: bool, verified: bool, has_tails: bool) -> str:
    """The names of the columns, each at the right end of its figures."""
    if is_latency:
        names = ["Avg Latency(us)"]
        names += [f"{name} Tail Lat(us)" for name in _NAMES if has_tails]
    else:
        names = ["Bandwidth (MB/s)"]
        names += [f"{name} Tail BW(MB/s)" for name in _NAMES if has_tails]
    names += ["Validation"] * verified
    return f"{'# Size':<10s}" + "".join(f"{name:>{_width(len(names))}s}" for name in names)


def _width(count: int) -> int:
    """Of each of so many columns behind the size."""
    return 20 if count == 1 else 18


def _figure(document: Document, row: Row) -> float:
    ns = mean(measurements(document, row))
    if row.configuration.pattern == "pingpong":
        return ns / 1e3
    return row.configuration.directions * row.configuration.size / ns * 1e3 if ns else 0.0


def _tails(document: Document, row: Row) -> list[float] | None:
    """The tails of a row, in its unit; None where a sample holds several iterations."""
    times = single_times(measurements(document, row))
    if times is None or not times.size or not times.min() > 0:
        return None
    if row.configuration.pattern == "pingpong":
        return [float(each) / 1e3 for each in np.quantile(times, _SHARES)]
    rates = row.configuration.directions * row.configuration.size / times * 1e3
    return [float(each) for each in np.quantile(rates, _SHARES)]


def _as_it_was(curve: Curve, source: Source) -> str:
    """What the tool had printed, from its heading on."""
    heading = fact(source, "heading")
    lines = [*fact(source, "title").split("\n"), heading]
    for row in curve.rows:
        size, *rest = cells(row, TOOL, columns(heading))
        width = _width(len(rest))
        lines.append(f"{size:<10s}" + "".join(f"{cell:>{width}s}" for cell in rest))
    return "".join(f"{line}\n" for line in lines)
