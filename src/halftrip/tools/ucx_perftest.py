"""ucx_perftest: the text of a test, with or without -f, or its CSV (-v).

A latency is that of a message one way, half a round trip, but for get, which is the whole time of
an exchange that brings data one way. The time of a row is the overall average; the percentile
beside it is of the last 2,048 samples alone. A bandwidth is by the sender's local completion, not
by what has arrived, which is a fault of the tool. MB are 2^20 bytes. Rows of progress do not count.

Only the server prints which test it is and the size of a message: where its lines are above the
client's, or below the heading, both are taken from there; else a command above says which test it
is. The client's heading alone says ``latency`` or ``overhead``, which does not tell get from a
ping-pong nor put from a stream, and CSV says neither; they are read as a ping-pong (so is CSV) and
a stream of a test that is unknown. A heading without ``Stage``, as old versions print it, says
``latency`` of all tests: without more, it is left out. The size then follows from bandwidth and
message rate. A bandwidth has two decimals: some hundred MB/s and more tell any size
below some KiB, less only a power of two that is alone in its range, and a few hundredths nothing:
then the size is not known. Tests of several threads and batch files are not read, nor atomic
operations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from halftrip.results.bounds import LARGEST_WINDOW
from halftrip.results.configuration import Configuration, not_said
from halftrip.results.patterns import SHAPES, Mode, Pattern
from halftrip.results.reported import Spread
from halftrip.tools.commands import Program, told
from halftrip.tools.lines import Lines, last_place, number, quoted, size_by, whole, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, settings

TOOL = "ucx-perftest"
_TEXT = re.compile(
    r"(?:\| +(?P<first>Stage|Test) +)?\| # iterations \| *(?P<time>typical|[\d.]{1,8}%ile) "
    r"(?:\| +average +\| +overall +){3}\|\s*"
)
_CSV = re.compile(
    r"(?P<first>\S*,)?iterations,(?P<time>\S+)_lat,avg_lat,overall_lat,avg_bw,overall_bw,"
    r"avg_mr,overall_mr\s*"
)
_KIND = re.compile(r"\| +(?P<stage>\| +)?\| +(?P<kind>latency|overhead) \(usec\) +\|.*")
# A server is called without a word, or with others than its client.
_PROGRAM = Program(r"ucx_perftest(?=\s+\S)", "ucx_perftest", r"Final:|iterations,")
_TEST = r"(?<!\S)-t *([a-z_]+)(?!\S)"
_MESSAGE, _BUFFERS = r"(?<!\S)-s *(\d+)(?!\S)", r"(?<!\S)-m *([a-z-]+(?:,[a-z-]+)?)(?!\S)"
# The names of tests by their parts; those of atomic operations have others.
_NAMED = ("am", "put", "tag", "tag_sync", "stream")
_KINDS = {"lat": "latency", "bw": "bandwidth"}
_SAID = re.compile(
    r"\| (?P<name>Test|Message size|Window size|Send memory|Recv memory): +(?P<value>\S.*?) +\|\s*"
)
_FINAL = "Final:"
_ROW = re.compile(rf"\s*(?:{_FINAL})?\s*\d+[ ,]+\d")
_PROGRESS = re.compile(r"\s*\[thread \d+\]")
_SPREADS: dict[str, Spread] = {
    "typical": "p50", "50.0%ile": "p50", "50.0_percentile": "p50", "90.0%ile": "p90",
    "90.0_percentile": "p90", "99.0%ile": "p99", "99.0_percentile": "p99", "99.9%ile": "p99.9",
    "99.9_percentile": "p99.9",
}  # fmt: skip
_FIGURES = (
    "average latency (usec)", "overall latency (usec)", "average bandwidth (MB/s)",
    "overall bandwidth (MB/s)", "average message rate (msg/s)", "overall message rate (msg/s)",
)  # fmt: skip
_ASKED = "size by command"
_MEGABYTE = float(1 << 20)
_UNKNOWN = "unknown"


def _read(lines: Lines, at: int) -> Sequence[ToolTable]:
    said: dict[str, tuple[int, str]] = {}
    for n, found in lines.matches(_SAID, before=at):
        if found["name"] in said:
            # That of another one stands above it.
            said = {}
        said[found["name"]] = n, found["value"]
    # Where both print into one text, those of the server may come below the client's heading.
    rows = next((n for n, line in lines.below(at) if _ROW.match(line)), at)
    said |= {found["name"]: (n, found["value"]) for n, found in lines.matches(_SAID, rows, at)}
    # The lines of the heading above its last: the kind of test, and a rule.
    above = [lines[n] for n in range(1, at) if lines[n].startswith(("|", "+-"))][-2:]
    kinds = [found["kind"] for found in map(_KIND.fullmatch, above) if found and found["stage"]]
    is_csv = _CSV.fullmatch(lines[at]) is not None
    if "Test" not in said and (test := lines.test or _told(lines, at, _TEST)):
        said["Test"] = at, _title(at, test)
    if "Send memory" not in said and (memory := _told(lines, at, _BUFFERS)):
        send, _, receive = memory.partition(",")
        said |= {"Send memory": (at, send), "Recv memory": (at, receive or send)}
    if "Message size" not in said and (size := _told(lines, at, _MESSAGE)):
        said[_ASKED] = at, size
    if "overhead" in kinds and " latency" in said.get("Test", (0, ""))[1]:
        wrong(at, f"a heading of overhead below the title {quoted(said['Test'][1])}")
    configuration = _configuration(said, next(reversed(kinds), None))
    heading = _CSV.fullmatch(lines[at]) or _TEXT.fullmatch(lines[at])
    time = heading["time"] if heading else ""
    if is_csv and heading and heading["first"]:
        wrong(at, "rows of a batch file do not say which tests they are")
    line, cells = _final(lines, at, heading["first"] if heading else None, is_csv)
    row, facts = _row(line, cells, time, said, configuration)
    return [ToolTable(TOOL, at, configuration, "mean", [row], facts=facts)]


def _told(lines: Lines, at: int, option: str) -> str | None:
    """What its command says of an option; None where that is not known."""
    found = told(lines, at, _PROGRAM, option)
    return None if found == _UNKNOWN else found


def _title(line: int, test: str) -> str:
    """The title of a test by its name, such as ``tag_lat``."""
    of, _, kind = test.removeprefix("ucp_").rpartition("_")
    if (of, kind) == ("", "get"):
        return "get latency"
    if of not in _NAMED or kind not in _KINDS:
        wrong(line, f"{quoted(test)} is not read here: get, and lat and bw of {', '.join(_NAMED)}")
    return f"{of} {_KINDS[kind]}"


def _final(lines: Lines, at: int, first: str | None, is_csv: bool) -> tuple[int, list[str]]:
    """The row of the whole test, by its line. Without ``Final:`` it is the last."""
    found: tuple[int, list[str]] | None = None
    for n, line in lines.below(at):
        if found and (_SAID.fullmatch(line) or _KIND.fullmatch(line)):
            break
        if _PROGRESS.match(line):
            continue
        if line.startswith(_FINAL) and not is_csv:
            if found and first == "Stage":
                wrong(n, "a second Final: rows of a batch file do not say which tests they are")
            found = n, line.removeprefix(_FINAL).split()
        elif first != "Stage" and (row := _unnamed(n, line, is_csv)):
            if found and first == "Test":
                wrong(n, "a second row, where -f prints one")
            found = n, row
    if found is None:
        what = "Final:" if first == "Stage" else "figures"
        wrong(at, f"it ends before a row of {what}: ucx_perftest was interrupted")
    return found


def _unnamed(line: int, text: str, is_csv: bool) -> list[str]:
    """The cells of a row that has no name before it; none of what is no row."""
    if is_csv:
        cells = [cell.strip() for cell in text.split(",")]
        return cells if len(cells) > 1 and cells[0].isdigit() else []
    cells = text.split()
    if len(cells) > 8 and not text.startswith(("|", "+", "[")) and cells[1].isdigit():
        wrong(line, "rows of a batch file do not say which tests they are")
    digits = [cell[0].isdigit() for cell in cells]
    if len(cells) == 8 and cells[0].isdigit() and 2 * sum(digits) > len(cells) and not all(digits):
        wrong(line, "a row with a figure that is none")
    return cells if cells and all(digits) else []


def _configuration(said: dict[str, tuple[int, str]], kind: str | None) -> Configuration:
    line, title = said.get("Test", (0, _UNKNOWN))
    pattern: Pattern = "stream" if kind == "overhead" else "pingpong"
    if title != _UNKNOWN:
        pattern = _pattern(line, title.removeprefix("UCP "))
    modes: dict[Pattern, Mode] = {"pingpong": "blocking", "stream": "nonblocking"}
    # The window of a stream is none that all have.
    fields: dict[str, Any] = {"window": None} if pattern in ("stream", "put") else {}
    if "Window size" in said and not SHAPES[pattern].replies:
        at, cell = said["Window size"]
        window = whole(at, cell)
        if not 1 <= window <= LARGEST_WINDOW:
            wrong(at, f"a window of {quoted(cell)}")
        fields = {"window": window, "places": "own" if window == 1 else _UNKNOWN}
    mode = modes.get(pattern, "onesided")
    memory = _memory(said, "Send memory"), _memory(said, "Recv memory")
    found = settings("ucx", pattern, mode, memory, (("test", title),), **fields)
    # Neither the heading nor anything else tells a latency from a bandwidth.
    return not_said(found, ["pattern"] if title == _UNKNOWN and kind is None else [])


def _memory(said: dict[str, tuple[int, str]], name: str) -> str:
    """The kind of memory that the server prints."""
    return said[name][1] if name in said else _UNKNOWN


def _pattern(line: int, title: str) -> Pattern:
    kind = re.search(r"^get latency\b| latency\b| bandwidth\b", title)
    if kind is None or "atomic" in title:
        wrong(line, f"{quoted(title)} is not read here: latency, bandwidth and get are")
    if kind[0] == " bandwidth":
        return "put" if title.startswith("put ") else "stream"
    if kind[0] == " latency":
        return "put-pingpong" if title.startswith("put ") else "pingpong"
    return "get"


def _row(
    line: int,
    cells: list[str],
    time: str,
    said: dict[str, tuple[int, str]],
    configuration: Configuration,
) -> tuple[TableRow, dict[str, str]]:
    """The row of these cells, and what is to be said of its size."""
    if len(cells) == 4:
        wrong(line, "4 figures: a test of several threads is not read here")
    if len(cells) != 8:
        wrong(line, f"{len(cells)} figures, where ucx_perftest prints 8")
    count = whole(line, cells[0])
    typical, _, overall, _, bandwidth, _, rate = (number(line, cell) for cell in cells[1:])
    if not (count and overall > 0 and rate > 0):
        wrong(line, "no iterations, or messages that took no time")
    # Both are rounded: a figure that has lost digits fits no longer. Some versions count the round
    # trips of a latency, not its messages.
    off = 0.01 + last_place(cells[7]) / rate + last_place(cells[3]) / overall
    counted = (1, 2) if configuration.shape.replies else (1,)
    if all(abs(1e-6 * overall * rate * each - 1) > off for each in counted):
        wrong(line, f"messages that take {cells[3]} us each are not {cells[7]} a second")
    size, facts = _size(said, cells)
    figures = dict(zip(("# iterations", time, *_FIGURES), cells, strict=True))
    ns, step = 1e3 * overall, 1e3 * last_place(cells[3])
    if configuration.shape.replies or configuration.pattern == "get":
        spread = {_SPREADS[time]: 1e3 * typical} if time in _SPREADS else {}
        iterations = count if configuration.window == 1 else None
        return TableRow(line, size, ns, figures, iterations, spread=spread, step=step), facts
    # The percentile is of the calls that send, not of messages.
    bytes_per_second = _MEGABYTE * bandwidth if size != 0 and bandwidth else None
    return TableRow(
        line, size, ns, figures, step=step, bandwidth=bytes_per_second, rate=rate
    ), facts  # fmt: skip


def _size(said: dict[str, tuple[int, str]], cells: list[str]) -> tuple[int | None, dict[str, str]]:
    if "Message size" in said:
        return whole(*said["Message size"]), {}
    bandwidth, rate = (float(cells[n]) for n in (5, 7))
    asked = int(said[_ASKED][1]) if _ASKED in said else None
    size = size_by(
        (_MEGABYTE * bandwidth, _MEGABYTE * last_place(cells[5])),
        (rate, last_place(cells[7])),
        asked,
    )
    by = "command" if size is not None and size == asked else "bandwidth and message rate"
    return size, {"size": f"by {by}"} if size else {}


_HEADING = "|".join(re.sub(r"\?P<\w+>", "?:", each.pattern) for each in (_TEXT, _CSV))
FORMAT = Format(
    "ucx_perftest", _read, marks=(r"\| # iterations ", "iterations,"),
    begins=re.compile(rf"(?:{_HEADING})$"),
)  # fmt: skip
