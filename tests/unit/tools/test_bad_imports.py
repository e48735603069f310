"""What no tool prints is refused, by the number of its line, and nothing is written.

Each importer with samples in tests/golden/imports/NAME/ is tried.
"""

import csv
import io
import re

import pytest

from halftrip.errors import UsageError
from halftrip.registry import FORMATS, IMPORTERS
from halftrip.report.document import document
from halftrip.tools.importing import imported
from halftrip.tools.lines import Lines
from harness.imports import SAMPLES, imported_run, measured, sample
from harness.shell import call

_NUMBER = re.compile(r"\d+\.\d+([eE]-?\d+)?")
# How far below the line of a row the line of its size is, where it has one of its own.
_SIZE_BELOW = {"qperf": 1}
_ALL = [
    pytest.param(path.parent.name, path.read_bytes(), id=f"{path.parent.name}-{path.stem}")
    for path in sorted(SAMPLES.glob("*/*"))
]
each_sample = pytest.mark.parametrize(("tool", "content"), _ALL)


def _refused(content, tool):
    with pytest.raises(UsageError) as caught:
        imported(content, "a text", tool)
    # Where it is in JSON, its path says.
    place = r"line [1-9]\d*: ." if not content.startswith(b"{") else r"(line [1-9]\d*: )?."
    assert re.match(f"a text: {place}", str(caught.value)), str(caught.value)
    return str(caught.value)


def _place(measurement, content):
    """The number of the line of a measurement; of a log of single exchanges, which has one for
    each, the last."""
    if measurement.reported is None:
        return len(content.splitlines())
    return measurement.reported.place


def _figures(tool, content):
    """The figures with a decimal point in the last row of a text, each with its place in it."""
    text = content.decode()
    last = max(measured(content, tool), key=lambda each: _place(each, content))
    place = _place(last, content)
    lines = text.split("\n")
    begin = sum(len(line) + 1 for line in lines[: max(place, 1) - 1])
    # A row of JSON may have several lines, or be anywhere.
    end = len(text) if text.startswith("{") else begin + len(lines[place - 1])
    found = []
    # A row of a log is kept as its time alone.
    cells = [text[begin:end]] if last.reported is None else last.reported.figures.values()
    # Some cells have a unit behind the number.
    numbers = [match[0] for cell in cells for match in _NUMBER.finditer(cell)]
    for cell in dict.fromkeys(numbers):
        matches = list(re.finditer(rf"(?<![\w.]){re.escape(cell)}(?![\w.])", text[begin:end]))
        if matches:
            # In JSON, a sum stands behind the single streams, which may have the same figure.
            match = matches[-1 if text.startswith("{") else 0]
            found.append((begin + match.start(), cell))
    return found


def _changed(content, place, cell, new):
    text = content.decode()
    return (text[:place] + new + text[place + len(cell) :]).encode()


@each_sample
def test_what_is_right_is_shown_in_every_format(tool, content):
    run = imported_run(content)
    assert {source.tool for source in run.sources} == {tool}
    points = {each.configuration for each in run.measurements}
    found = document(run)
    assert len(found.rows) == len(points)
    rows, *_ = (FORMATS.load(name)(found) for name in ("csv", "json", "markdown", "latex"))
    sizes = {row["size_bytes"] for row in csv.DictReader(io.StringIO(rows))}
    assert sizes == {"" if each.known_size is None else str(each.size) for each in points}


@each_sample
def test_a_figure_that_is_no_number_or_below_zero(tool, content):
    assert measured(content) == measured(content, tool)
    figures = _figures(tool, content)
    assert figures, "the sample has no figure with a decimal point"
    for place, cell in figures:
        for new in (f"-{cell}", "nan", "inf", f"{cell}x", "1e300", "", cell.replace(".", ",")):
            _refused(_changed(content, place, cell, new), tool)


@each_sample
def test_sizes_out_of_order(tool, content):
    curves = {}
    for each in measured(content, tool):
        key = (each.configuration.curve, each.launch)
        place = _place(each, content)
        # The rows of a log of single exchanges are in the order of their packets.
        places = {place - 1, place} if each.reported is None else {place}
        curves.setdefault(key, set()).update(places)
    rows = max(curves.values(), key=len)
    if len(rows) == 1:
        # A text of a single size, a sentence with two, and JSON in one line: no lines to exchange.
        assert all(len(places) == 1 for places in curves.values())
        return
    *_, first, second = (place + _SIZE_BELOW.get(tool, 0) for place in sorted(rows))
    lines = content.decode().split("\n")
    lines[first - 1], lines[second - 1] = lines[second - 1], lines[first - 1]
    _refused("\n".join(lines).encode(), tool)


@each_sample
def test_the_whole_text_twice_with_carriage_returns_or_cut_off(tool, content):
    _refused(content + content, tool)
    changed = content.replace(b"\n", b"\r\n") if b"\n" in content else content + b"\r\n"
    assert "carriage return" in _refused(changed, tool)
    last = max(_place(each, content) for each in measured(content, tool))
    lines = content.decode().split("\n")[:last]
    _refused("\n".join(lines)[:-1].encode(), tool)


@each_sample
def test_two_formats_in_one_file_and_the_name_of_another_tool(tool, content):
    other, name = ("netpipe", "screen-tcp") if tool == "imb" else ("imb", "four-benchmarks")
    added = sample(other, name).encode()
    if content.lstrip().startswith(b"{"):
        # JSON with anything behind it is none.
        _refused(content + added, tool)
        return
    with pytest.raises(UsageError) as caught:
        imported(content + added, "a text")
    said = str(caught.value)
    assert re.search(rf"\b{re.escape(tool)} by line \d", said)
    assert re.search(rf"\b{other} by line \d", said)
    for name in IMPORTERS:
        if name != tool:
            with pytest.raises(UsageError):
                imported(content, "a text", name)


@pytest.mark.parametrize("tool", [None, *IMPORTERS])
def test_nothing_of_any_tool(tool):
    for content in (b"", b"\n", b"\0\1\2", b"\xff\xfe", b"{", b"{}", b"[]", b"hello\n"):
        with pytest.raises(UsageError):
            imported(content, "a text", tool)


def test_an_unknown_name_and_those_near_it():
    with pytest.raises(UsageError, match=r"netpip.*netpipe"):
        imported(b"", "a text", "netpip")


def test_what_no_run_file_can_hold():
    text = sample("osu", "latency-validated")
    title = text.replace("MPI_CHAR.", "MPI_CHAR." + "x" * (1 << 17))
    assert "longer than" in _refused(title.encode(), "osu")
    heading = text.replace("Validation", "y" * 201).replace("Pass", "1.00")
    assert "longer than" in _refused(heading.encode(), "osu")
    text = sample("osu", "latency").replace("0.59", "9" * 17)
    assert "larger than any tool" in _refused(text.encode(), "osu")


def test_the_command_writes_nothing_of_a_bad_text_and_over_no_file(tmp_path):
    good = (SAMPLES / "osu" / "latency.txt").read_bytes()
    (tmp_path / "good").write_bytes(good)
    for name, content in (
        ("bad", good.replace(b"0.38", b"-.38")),
        ("empty", b""),
        ("binary", bytes(range(256)) * 4),
    ):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    for words in (
        *(["bad"], ["empty"], ["binary"], ["missing"], ["folder"]),
        *(["good", "--from", "imb"], ["good", "--from", "none"]),
    ):
        result = call(tmp_path, "import", *words, "-o", "run.jsonl")
        assert (result.status, result.err.count("\n")) == (2, 1)
        assert not result.path.exists()
    assert call(tmp_path, "import", "good", "-o", "run.jsonl").status == 0
    before = result.path.read_bytes()
    assert call(tmp_path, "import", "good", "-o", "run.jsonl").status == 2
    assert result.path.read_bytes() == before


def test_a_long_text_is_recognised_by_its_first_mebibyte(monkeypatch):
    prose = "the quick brown fox jumps over the lazy dog\n" * 30_000
    osu = sample("osu", "latency")
    with pytest.raises(UsageError, match=r"no tool that is known in its first MiB; --from names"):
        imported_run(prose + osu)
    with pytest.raises(UsageError, match=r"read as osu, recognised by line 1\)$"):
        imported_run(osu + prose)
    assert imported_run(prose + osu, "osu").sources[0].tool == "osu"
    looked = []
    first = Lines.first
    monkeypatch.setattr(
        Lines, "first", lambda self, *words: looked.append(len(self)) or first(self, *words)
    )
    with pytest.raises(UsageError, match="no tool that is known"):
        imported_run(prose * 3)
    assert max(looked) < 30_000


def test_json_is_no_longer_than_any_tool_prints_it(monkeypatch):
    monkeypatch.setattr("halftrip.tools.lines._LONGEST_JSON", 100)
    with pytest.raises(UsageError, match="longer than 0 MiB, which is no JSON of these tools"):
        imported_run(sample("iperf3", "two-streams.json"))
