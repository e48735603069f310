"""pyperf's JSON: every benchmark is a curve of one row, by its name.

pyperf knows calls, not messages: a value is taken as the time of one message, is not halved, and
its size is not known. A run (a process) of values is a launch, and each of
its values a slice; calibration and values that were for warming up are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from halftrip.tools.lines import Lines, Value, quoted, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, date, settings, timed

TOOL = "pyperf"
# Its keys are in the order of the alphabet, however it is indented.
_JSON = r'"benchmarks":\s*\[\s*\{\s*"(metadata|runs)":'
_LONGEST_NAME = 200
_DATES = ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S")


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    found = lines.json
    common = found.get("metadata")
    tables: list[ToolTable] = []
    names: set[str] = set()
    for benchmark in found["benchmarks"]:
        metadata = [each for each in (benchmark.get("metadata"), common) if each is not None]
        name = _said(metadata, "name")
        if not name or len(name) > _LONGEST_NAME:
            wrong(0, f"{benchmark.path} has no name")
        if name in names:
            wrong(0, f"{benchmark.path}: {quoted(name)} a second time")
        names.add(name)
        tables.append(_table(first, benchmark, name, metadata))
    return tables


def _table(first: int, benchmark: Value, name: str, metadata: Sequence[Value]) -> ToolTable:
    rows: list[TableRow] = []
    dates = []
    launches = [run for run in benchmark["runs"] if run.get("values") is not None]
    for launch, run in enumerate(launches):
        own = run.get("metadata")
        said = [own, *metadata] if own is not None else metadata
        unit = _said(said, "unit") or "second"
        if unit != "second":
            wrong(0, f"{run.path}: values in the unit {quoted(unit)} are no times")
        rows += _rows(run, launch, said)
        if (when := _said(said, "date")) is not None:
            dates.append(_date(when))
    host = _said(metadata, "hostname")
    configuration = settings("python", "pingpong", variant=(("benchmark", name),), places="own")
    return ToolTable(
        TOOL, first, configuration, "mean", rows, version=_said(metadata, "perf_version"),
        hosts=[host] if host is not None else [], date=min(dates, default=None),
        facts={"name": name}, in_order=False,
    )  # fmt: skip


def _rows(run: Value, launch: int, said: Sequence[Value]) -> Iterator[TableRow]:
    calls = _count(said, "loops") * _count(said, "inner_loops")
    for slice_, value in enumerate(run["values"]):
        if not value.number > 0:
            wrong(0, f"{value.path}: a call that took no time")
        figures = {"value": value.digits}
        yield timed(
            0, None, value.digits, 1e9, figures, iterations=calls, launch=launch, slice=slice_
        )


def _count(said: Sequence[Value], name: str) -> int:
    """A count of the metadata; 1 where it is not said."""
    found = _found(said, name)
    if found is None:
        return 1
    if not found.whole:
        wrong(0, f"{found.path} is 0")
    return found.whole


def _said(said: Sequence[Value], name: str) -> str | None:
    """A text of the metadata."""
    found = _found(said, name)
    return None if found is None else found.text


def _found(said: Sequence[Value], name: str) -> Value | None:
    """What the metadata say, the nearest first."""
    return next((each[name] for each in said if each.get(name) is not None), None)


def _date(text: str) -> str:
    return date(0, text, _DATES[0] if "." in text else _DATES[1])


FORMAT = Format("pyperf", _read, json=_JSON)
