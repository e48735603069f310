"""What no tool prints is left out, by the number of its line, and the rest stays as it was.

Each importer with samples in tests/golden/imports/NAME/ is tried.
"""

import csv
import io
import re

import pytest

from halftrip.errors import HalftripError, UsageError
from halftrip.registry import FORMATS, IMPORTERS
from halftrip.report.document import document
from harness import runs
from harness.imports import SAMPLES, imported, imported_run, measured, said_of, sample
from harness.shell import call

_NUMBER = re.compile(r"\d+\.\d+([eE]-?\d+)?")
# How far below the line of a row the line of its size is, where it has one of its own.
_SIZE_BELOW = {"qperf": 1}
_ALL = [
    pytest.param(path.parent.name, path.read_bytes(), id=f"{path.parent.name}-{path.stem}")
    for path in sorted(SAMPLES.glob("*/*"))
]
each_sample = pytest.mark.parametrize(("tool", "content"), _ALL)


def _kept(content, tool=None, named=None):
    """What there is of a text, by what it is of; nothing of one that is refused. `named`: as it is
    beside texts of other tools."""
    try:
        found = measured(content, tool)
    except HalftripError:
        return set()
    if named is not None:
        found = [_with_tool(each, named) for each in found]
    return {
        (each.configuration, figures)
        for each in found
        for figures in (
            each.samples.tolist()
            if each.reported is None
            else [tuple(each.reported.figures.items())]
        )
    }


def _with_tool(measured, tool):
    variant = dict(measured.configuration.variant) | {"tool": tool}
    return runs.with_settings(measured, variant=tuple(sorted(variant.items())))


def _left_out(content, tool, of):
    """Checks that something of a changed text is left out by its place, and no figure is new."""
    said = said_of(content, tool)
    # Where it is in JSON, its path says.
    place = r"line [1-9]\d*: ." if not content.startswith(b"{") else r"(line [1-9]\d*: )?."
    assert re.match(rf"source.txt: {place}", said), said
    assert _kept(content, tool) < _kept(of, tool), said
    return said


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
            _left_out(_changed(content, place, cell, new), tool, content)


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
    changed = "\n".join(lines).encode()
    if tool in _SIZE_BELOW:
        # Only the sizes changed places, and one of them is in order.
        assert "comes behind" in said_of(changed)
    else:
        _left_out(changed, tool, content)


@each_sample
def test_the_whole_text_twice_with_other_line_ends_or_cut_off(tool, content):
    once = measured(content)
    # JSON need not be in one line, nor have an end of it.
    twice = imported_run(content + b"\n" + content)
    assert {source.tool for source in twice.sources} == {tool}
    # Each test of iperf3 has a cookie of its own, and both ends of a ping-pong of libfabric's print
    # alike.
    is_one = b'"cookie"' in content or tool == "fi_pingpong" or b"fi_rdm_pingpong" in content
    times = 1 if is_one else 2
    assert len(twice.measurements) == times * len(once)
    assert ("the same measurement as in line" in said_of(content + b"\n" + content)) == is_one
    launches = {each.launch for each in once}
    assert {each.launch for each in twice.measurements} == {*range(times * len(launches))}
    assert measured(content.replace(b"\n", b"\r\n")) == once
    last = max(_place(each, content) for each in once)
    lines = content.decode().split("\n")[: None if content.startswith(b"{") else last]
    _left_out("\n".join(lines).rstrip()[:-1].encode(), tool, content)


@each_sample
def test_two_formats_in_one_file_and_the_name_of_another_tool(tool, content):
    other, name = ("netpipe", "screen-tcp") if tool == "imb" else ("imb", "four-benchmarks")
    added = sample(other, name).encode()
    for text in (content + added, added + content):
        assert _kept(text) == _kept(content, named=tool) | _kept(added, named=other)
        assert said_of(text) == ""
    for name in IMPORTERS:
        if name != tool:
            assert f"no table of {name}" in said_of(content, name)


@pytest.mark.parametrize("tool", [None, *IMPORTERS])
def test_nothing_of_any_tool(tool):
    for content in (b"", b"\n", b"\0\1\2", b"\xff\xfe", b"{", b"{}", b"[]", b"hello\n"):
        with pytest.raises(HalftripError):
            imported(content, tool=tool)


def test_an_unknown_name_and_those_near_it():
    with pytest.raises(UsageError, match=r"netpip.*netpipe"):
        imported(b"", tool="netpip")


def test_what_no_run_file_can_hold():
    text = sample("osu", "latency-validated")
    title = text.replace("MPI_CHAR.", "MPI_CHAR." + "x" * (1 << 17))
    assert "longer than" in said_of(title)
    heading = text.replace("Validation", "y" * 201).replace("Pass", "1.00")
    assert "longer than" in said_of(heading)
    text = sample("osu", "latency").replace("0.59", "9" * 17 + ".00")
    assert "larger than any tool" in said_of(text)


def test_the_command_writes_nothing_of_a_bad_text_and_over_no_file(tmp_path):
    good = (SAMPLES / "osu" / "latency.txt").read_bytes()
    (tmp_path / "good").write_bytes(good)
    for name, content in (
        ("bad", good.replace(b"MPI", b"XYZ")),
        ("empty", b""),
        ("binary", bytes(range(256)) * 4),
    ):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    for status, *words in (
        *((1, "bad"), (1, "empty"), (1, "binary"), (2, "missing"), (2, "folder")),
        *((1, "good", "--from", "imb"), (2, "good", "--from", "none")),
    ):
        result = call(tmp_path, "import", *words, "-o", "run.jsonl")
        assert (result.status, result.err.count("\n")) == (status, 1)
        assert not result.path.exists()
    assert call(tmp_path, "import", "good", "-o", "run.jsonl").status == 0
    before = result.path.read_bytes()
    assert call(tmp_path, "import", "good", "-o", "run.jsonl").status == 2
    assert result.path.read_bytes() == before


def test_json_is_no_longer_than_any_tool_prints_it(monkeypatch):
    monkeypatch.setattr("halftrip.tools.log._LONGEST_JSON", 100)
    assert "no JSON" in said_of(sample("iperf3", "two-streams.json"))
