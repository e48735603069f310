"""sendrecv_perf of nccl-tests between two devices: its text, and its JSON (-J).

Both ranks send and receive at once, which is halftrip's exchange; "time" is the mean of such a
step, and "algbw" is bytes per second in one direction, in 10^9. Out of place, a rank receives into
a buffer of its own; in place, into the one that it sends from. Other programs of nccl-tests measure
collectives, and more than two ranks a ring. Where no line names the ranks, their number is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from halftrip.results.configuration import UNKNOWN
from halftrip.results.reported import Variant
from halftrip.tools.lines import Lines, Value, number, quoted, whole, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, date, settings, timed

TOOL = "nccl-tests"
_PROGRAM = "sendrecv_perf"
# Until 2022 there is a relative error in place of a count, and no root nor, before, a redop.
_EACH_HEADING = r"\s+(?:time|cputime)\s+algbw\s+busbw\s+(?:#wrong|error)"
_HEADING = re.compile(
    rf"#\s+(?P<first>size\s+count\s+type(?:\s+redop)?(?:\s+root)?)(?P<each>{_EACH_HEADING}){{2}}\s*"
)
_HEADING_BEGIN = re.compile(r"#\s+size\s+count\s+type\s")
_NAMED = re.compile(r".*?\b(?P<program>[a-z]+(_[a-z]+)*_perf)\b")
_RANK = re.compile(r"#\s+Rank\s+\d+ .*Pid\s+\d+ on\s+(?P<host>\S+) device.*")
_OF_PROCESS = re.compile(r"# nThread (?P<threads>\d{1,9}) nGpus (?P<devices>\d{1,9}) .*")
_ITERATIONS = re.compile(
    r"#.*(?<!warmup)(?<!agg) iters: (?P<count>\d+)(?: agg iters: (?P<each>\d+))?\b.*"
)
_VERSION = re.compile(r"# nccl-tests version (?P<version>\S+).*")
_JSON = r'"nccl_version"\s*:'
_RANKS = 2
_FIRST = ("size", "count", "type", "redop", "root")
# A copy has no error, where a reduction has a small one.
_WRONG = {"#wrong": "{} wrong elements", "error": "an error of {}"}
# Where a rank receives, and whether that is the buffer that it sends from.
_PLACES = {"out_of_place": "separate", "in_place": "same"}


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    if lines.is_json:
        return _json(lines, lines.first(f".*{_JSON}") or first)
    return _text(lines, first)


# Text.


def _text(lines: Lines, first: int) -> Sequence[ToolTable]:
    heading = _HEADING.fullmatch(lines[first])
    if heading is None:
        wrong(first, "columns of nccl-tests that are not read here")
    known, count = _preamble(lines, first)
    # The nearest line above that names a program does, or else one below.
    numbers = [*range(first - 1, 0, -1), *range(first + 1, len(lines) + 1)]
    if lines.test is not None:
        _check_program(first, lines.test)
    elif not any(_names(n, lines[n]) for n in numbers):
        wrong(first, f"no line says that it is of {_PROGRAM}; --test {_PROGRAM} does")
    names = heading["first"].split(), heading["each"].split()
    found = lines.rows(first, lambda n, line: _line(n, line, *names, count))
    rows = [row for of_line in found for row in of_line]
    return [_table(first, rows, **known)]


def _preamble(lines: Lines, heading: int) -> tuple[dict[str, Any], int | None]:
    """What is said above the heading of a table, and how many iterations were made."""
    hosts = [rank["host"] for _, rank in lines.matches(_RANK, before=heading)]
    known: dict[str, Any] = {}
    if hosts:
        _check_ranks(heading, len(hosts))
    else:
        # There may be several processes, of which each has so many.
        of_process = lines.last(_OF_PROCESS, heading)
        if of_process:
            ranks = int(of_process["threads"]) * int(of_process["devices"])
            if ranks > _RANKS:
                _check_ranks(heading, ranks)
        known = {"variant": (("ranks", UNKNOWN),)}
    versions = [said["version"] for _, said in lines.matches(_VERSION, before=heading)]
    counts = [
        whole(n, said["count"]) * whole(n, said["each"] or "1")
        for n, said in lines.matches(_ITERATIONS, before=heading)
    ]
    known |= {"hosts": hosts, "version": next(reversed(versions), None)}
    return known, next(reversed(counts), None)


def _names(n: int, line: str) -> bool:
    """Whether a line names the program. Raises WrongLineError if it names another one."""
    program = _NAMED.match(line)
    if program is not None:
        _check_program(n, program["program"])
    return program is not None


def _check_program(line: int, program: str) -> None:
    name = program.removesuffix("_mpi")
    if name != _PROGRAM:
        wrong(line, f"{quoted(name)} is not read here: of nccl-tests, only {_PROGRAM} is")


def _check_ranks(line: int, count: int) -> None:
    if count != _RANKS:
        wrong(line, f"{count} ranks: {_PROGRAM} sends from point to point between {_RANKS} alone")


def _line(
    n: int, line: str, names: Sequence[str], each: Sequence[str], iterations: int | None
) -> list[TableRow]:
    cells = line.split()
    if len(cells) != len(names) + 2 * len(each):
        wrong(n, f"{len(cells)} figures below {len(names) + 2 * len(each)} columns")
    first = dict(zip(names, cells, strict=False))
    found = []
    for place, at in zip(_PLACES, (len(names), len(names) + len(each)), strict=True):
        figures = {**first, **dict(zip(("time", *each[1:]), cells[at:], strict=False))}
        found.append(_row(n, figures, place, iterations))
    return found


# JSON.


def _json(lines: Lines, first: int) -> Sequence[ToolTable]:
    content = lines.json
    program = next((each.text for each in content["args"]), "")
    named = _NAMED.match(program.rpartition("/")[2])
    _check_program(first, named["program"] if named is not None else program or "a program")
    config = content["config"]
    devices = [*(config.get("devices") or content.get("devices") or ())]
    _check_ranks(first, len(devices))
    hosts = ["" if (name := each.get("hostname")) is None else name.text for each in devices]
    started = content.get("start_time")
    when = None if started is None else date(first, started.text, "%Y-%m-%d %H:%M:%S")
    results = [*(content.get("results") or ())]
    if not results:
        wrong(first, "no results")
    rows = [row for each in results for row in _result(first, each)]
    return [_table(first, rows, date=when, hosts=hosts)]


def _result(line: int, result: Value) -> Iterator[TableRow]:
    first = {name: result[name].cell for name in _FIRST}
    count = result.get("actual_iterations")
    iterations = None if count is None else count.whole
    for place in _PLACES:
        part = result.get(place)
        # Not every program measures both.
        if part is None or part.is_null:
            continue
        time = "time" if part.get("cpu_time") is None else "cpu_time"
        names = {"time": time, "algbw": "alg_bw", "busbw": "bus_bw"}
        figures = {ours: part[name].cell for ours, name in names.items()}
        wrongs = part.get("nwrong")
        figures["#wrong"] = "N/A" if wrongs is None or wrongs.is_null else wrongs.cell
        yield _row(line, first | figures, place, iterations)


# Both.


def _row(line: int, figures: dict[str, str], place: str, iterations: int | None) -> TableRow:
    row = timed(line, whole(line, figures["size"]), figures["time"], 1e3, figures)
    rate = number(line, figures["algbw"])
    number(line, figures["busbw"])
    for name, what in _WRONG.items():
        if figures.get(name, "N/A") != "N/A" and number(line, figures[name]) > 0:
            wrong(line, f"{what.format(figures[name])}: these figures are of broken messages")
    return row._replace(
        iterations=iterations or None, bandwidth=1e9 * rate or None,
        settings={"buffers": _PLACES[place]},
    )  # fmt: skip


def _table(line: int, rows: Sequence[TableRow], variant: Variant = (), **known: Any) -> ToolTable:
    memory = ("cuda", "cuda")
    configuration = settings("nccl", "exchange", memory=memory, variant=variant, places="own")
    return ToolTable(TOOL, line, configuration, "mean", rows, **known)


FORMAT = Format(
    "nccl-tests", _read, marks=("#wrong", "busbw +error"), begins=_HEADING_BEGIN, json=_JSON
)
