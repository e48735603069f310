"""The Intel MPI Benchmarks, imported."""

import pytest

from halftrip.convert.importing import imported
from halftrip.errors import UsageError
from halftrip.results.reported import Source
from harness.samples import measured, one_way, sample

_RULE = "#---------------------------------------------------"


def _text(version="2021.3"):
    text = sample("imb", "four-benchmarks")
    return text.replace("2021.3", version)


def _found(text, pattern):
    return [each for each in measured(text) if each.configuration.pattern == pattern]


def test_four_benchmarks_are_told_apart_by_their_patterns():
    text = _text()
    assert [len(_found(text, p)) for p in ("pingpong", "pingping", "stream", "bidirectional")] == [
        4,
        3,
        3,
        3,
    ]
    assert {e.configuration.window for e in _found(text, "stream")} == {64}
    assert {e.configuration.variant for e in measured(text)} == {()}


def test_a_row_of_pingpong():
    row = _found(_text(), "pingpong")[1]
    assert (row.configuration.size, row.iterations, row.reported.counted) == (8, 1000, True)
    assert one_way(row) == pytest.approx(350.0)
    assert row.reported.bandwidth == pytest.approx(22.61e6)
    assert row.reported.figures["t[usec]"] == "0.35"


def test_a_row_of_no_bytes_has_no_bandwidth():
    assert _found(_text(), "pingpong")[0].reported.bandwidth is None


def test_biband_is_the_sum_of_both_directions():
    row = _found(_text(), "bidirectional")[1]
    assert row.reported.rate == pytest.approx(5e6)
    assert one_way(row) == pytest.approx(200.0)
    assert row.reported.bandwidth == pytest.approx(40e6)


@pytest.mark.parametrize(
    ("version", "unit"), [("4.1", 1 << 20), ("2017.1", 1 << 20), ("2018", 1e6)]
)
def test_a_megabyte_depends_on_the_version(version, unit):
    row = _found(_text(version), "pingpong")[2]
    assert row.reported.bandwidth == pytest.approx(unit * 1852.41)


def test_without_a_version_the_megabyte_is_not_known():
    text = _text()
    text = text[text.index(_RULE + "\n# Benchmarking PingPong") :]
    assert _found(text, "pingpong")[2].reported.bandwidth is None
    # That of Uniband is known by its messages.
    assert _found(text, "stream")[2].reported.bandwidth == pytest.approx(1024 * 4e6)


def test_version_and_date():
    records = imported(_text().encode(), "imb.txt")
    (source, *_) = [each for each in records if isinstance(each, Source)]
    assert (source.version, source.date) == ("2021.3", "2023-06-01T23:13:46+00:00")


def test_lines_of_a_library_around_it_do_not_count():
    assert len(measured("[0] MPI startup(): library kind: release\n" + _text())) == 13


def test_processes_that_wait_change_nothing():
    waiting = "# ( 62 additional processes waiting in MPI_Barrier)\n"
    text = _text().replace("# #processes = 2 \n", "# #processes = 2 \n" + waiting)
    assert len(measured(text)) == 13


@pytest.mark.parametrize("name", ["Sendrecv", "Exchange", "Allreduce", "Barrier"])
def test_other_benchmarks_are_refused_by_name(name):
    with pytest.raises(UsageError, match=f"line 42: '{name}' is not read here: PingPong, "):
        measured(_text().replace("# Benchmarking PingPing ", f"# Benchmarking {name} "))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# Benchmarking PingPing ", "# Benchmarking PingPong ", "a second table of PingPong"),
        ("MPI-1 part", "MPI-IO part", "only MPI-1 is read"),
        ("#processes = 2 ", "#processes = 4 ", "4 processes: only those of a pair"),
        ("# #processes = 2 ", "# ( 2 groups of 2 processes each running", "several groups"),
        ("t[usec]", "t_min[usec]", "not the columns of PingPong"),
        ("    0.35        22.61", "    0.35", "3 figures below 4 columns"),
        ("      0.35  ", "   time-out.", "'time-out.' is no number"),
        ("         1000         0.35", "            0         0.35", "no repetitions"),
        ("         0.35", "         0.00", "a message that took no time"),
        ("      8371594", "            0", "no messages"),
        ("            0         1000         0.33", "\n            0  1000  0.33", "without a row"),
        ("Thu Jun", "Someday", "is no date"),
    ],
)
def test_what_no_pair_prints(old, new, said):
    text = _text()
    assert old in text
    with pytest.raises(UsageError) as caught:
        measured(text.replace(old, new))
    assert said in str(caught.value)
