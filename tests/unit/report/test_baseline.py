"""Links against the same links of an earlier run, or against its median link."""

import pytest

from halftrip.cli.show import Shown, show_runs
from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, options_layer
from halftrip.report.baseline import Baseline, check_baseline
from halftrip.report.document import document
from halftrip.report.expectation import Expectations, fails, shortfalls
from halftrip.report.expectation_lines import lines
from halftrip.report.selection import Selection
from halftrip.results.records import Skip
from harness.runs import between_hosts, run, save


def against(base, new, tolerance=0.1):
    baseline = Baseline.of(base, "base.jsonl")
    expected = Expectations({}, baseline, tolerance)
    return document(new, flags=False, expectations=expected)


def test_a_link_that_was_slow_already_does_not_fall_short():
    slow = between_hosts("abcd", "ac")
    found = against(slow, slow)
    assert not fails(found)
    assert lines(found) == ["as expected: 6 rows against base.jsonl, within 10 %"]
    assert not fails(against(slow, between_hosts("abcd")))
    # Who initiates does not matter.
    assert not fails(against(between_hosts("ab", "ab"), between_hosts("ba", "ab")))


def test_a_link_that_has_become_slow_is_named():
    found = against(between_hosts("abcd"), between_hosts("abcd", "ac"))
    (short,) = shortfalls(found)
    assert (short.hosts, short.against, short.is_sure) == (("a", "c"), "baseline", True)
    (line,) = lines(found)
    assert line.startswith("falls short: a to c: tcp pingpong 8 latency 40.")
    assert line.endswith(" us, baseline 20.0 us within 10 %")


def test_a_host_is_named_once_for_all_links_and_sizes():
    sizes = (8, 64, 512)
    found = against(between_hosts("abcd", sizes=sizes), between_hosts("abcd", "b", sizes=sizes))
    assert [short.hosts for short in shortfalls(found)] == [("b",)] * 3
    (line,) = lines(found)
    assert line.startswith("falls short: b: tcp pingpong ")
    assert "on 3 of its 3 links, baseline 20.0 us within 10 %, and in 2 more rows" in line


def test_a_pair_that_is_new_is_compared_with_the_median_link():
    base = between_hosts("abcd", "ab")
    found = against(base, between_hosts("axyz"))
    assert lines(found) == [
        "as expected: 6 rows against base.jsonl, 6 of them with its median link, within 10 %"
    ]
    (short,) = shortfalls(against(base, between_hosts("axyz", "xz")))
    assert short.hosts == ("x", "z")
    assert short.expected == pytest.approx(20e-6, rel=0.01)


def test_both_intervals_count():
    """A fifth slower; each interval reaches so far that this may be chance."""
    found = against(between_hosts("ab"), between_hosts("ab", "ab", by=1.2))
    assert fails(found)
    (row,) = found.rows
    wide = [row._replace(verdict=row.verdict._replace(width=0.15))]
    unsure = found._replace(rows=wide, latency_rows=wide)
    assert [short.is_sure for short in shortfalls(unsure)] == [False]
    assert lines(unsure)[0].startswith("may fall short: a to b: ")
    assert not fails(unsure)
    baseline = found.expectations.baseline
    (setting,) = baseline.links
    vague = {key: each._replace(width=0.15) for key, each in baseline.links[setting].items()}
    vague_base = found.expectations._replace(baseline=baseline._replace(links={setting: vague}))
    assert [s.is_sure for s in shortfalls(found._replace(expectations=vague_base))] == [False]


def test_other_settings_are_not_compared():
    found = against(between_hosts("ab"), between_hosts("ab", wait="spin"))
    assert fails(found)
    assert lines(found) == ["not judged: tcp pingpong 8, of which base.jsonl has nothing like it"]


def plan(**options):
    return make_plan(options_layer({"transport": "tcp", "sizes": "8"} | options))


def test_a_file_without_what_is_measured_is_refused():
    base = between_hosts("ab")
    check_baseline(base, "base.jsonl", plan())
    # It was skipped, and will be again.
    check_baseline(base, "base.jsonl", plan(transport="tcp,mpi"))
    for options, lacks in (
        ({"transport": "tcp,udp"}, "udp pingpong 8"),
        ({"pattern": "stream"}, "tcp stream 8"),
        ({"sizes": "1..64"}, "tcp pingpong 1, tcp pingpong 2, tcp pingpong 4"),
    ):
        with pytest.raises(UsageError, match=f"^--baseline: base.jsonl has no {lacks}"):
            check_baseline(base, "base.jsonl", plan(**options))
    nothing = run(skips=(Skip(transport="tcp", reason="no network"),))
    with pytest.raises(UsageError, match="has no measurements; measure the same as there"):
        check_baseline(nothing, "base.jsonl", plan())


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    save(between_hosts("abc"), tmp_path / "base.jsonl")
    save(between_hosts("abc", "b"), tmp_path / "new.jsonl")


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({}, 0),
        ({"baseline": "base.jsonl"}, 1),
        ({"baseline": "base.jsonl", "tolerance": "99%"}, 1),
        ({"baseline": "new.jsonl"}, 0),
        ({"baseline": "base.jsonl", "views": ["details"]}, 1),
        ({"baseline": "base.jsonl", "selection": Selection(pairs=((0, 2),))}, 0),
        ({"expect": "latency=30us", "tolerance": "50%"}, 0),
        ({"expect": "latency=30us", "format": "json"}, 1),
    ],
)
def test_an_existing_run_is_judged(saved, capsys, options, status):
    assert show_runs(["new.jsonl"], Shown(**options)) == status
    said = capsys.readouterr().out
    assert ("\nfalls short: b: " in said or '"against": ' in said) == bool(status)


def test_of_many_that_fall_short_some_have_a_line():
    """Pairs that have nothing in common: no host has most of it."""
    names = [f"n{number}" for number in range(24)]
    pairs = [(number, number + 1) for number in range(0, 24, 2)]
    found = against(between_hosts(names, pairs=pairs), between_hosts(names, names, pairs=pairs))
    assert len(shortfalls(found)) == 12
    said = lines(found)
    assert len(said) == 11
    assert said[-1] == "and 2 more; show --format nodes has all of them"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tolerance": "5%"}, "^--tolerance: only with --expect or --baseline$"),
        ({"expect": "speed=1"}, "^--expect: 'speed' is not known"),
        ({"baseline": "nowhere.jsonl"}, "^nowhere.jsonl: no such file"),
        ({"expect": "latency=1s", "tolerance": "2"}, "^--tolerance: "),
    ],
)
def test_what_nothing_can_be_judged_by_is_refused(saved, options, said):
    with pytest.raises(UsageError, match=said):
        show_runs(["new.jsonl"], Shown(**options))


def test_a_file_says_which_baseline_it_had_and_opens_none(saved, tmp_path, capsys):
    """Anybody may have written the name."""
    of = between_hosts("ab")
    of.header.plan["baseline"] = "/dev/stdin"
    save(of, tmp_path / "named.jsonl")
    assert show_runs(["named.jsonl"], Shown()) == 0
    assert "baseline: /dev/stdin; show --baseline FILE compares" in capsys.readouterr().out
