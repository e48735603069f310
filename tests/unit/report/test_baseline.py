"""Links against the same links of an earlier run, or against its median link."""

from itertools import combinations

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
from harness.runs import environment, measurement, run, save


def _is_slow(link, slow):
    """Of one or two hosts: whether the link has all of them; of more: whether it is among them."""
    return bool(slow) and (link >= set(slow) if len(slow) < 3 else link <= set(slow))


def hosts_run(names, slow=(), by=2.0, sizes=(8,), wait="block", pairs=None):
    """Pairs (None: all) of these hosts; a link of which both hosts, or the only one, are in `slow`
    takes `by` times as long."""
    found = [
        measurement(
            "tcp",
            size,
            wait,
            half_ns=20_000.0 * (by if _is_slow({names[a], names[b]}, slow) else 1.0),
            pair=(a, b),
            slice=slice_,
            seed=slice_,
        )
        for a, b in pairs or combinations(range(len(names)), 2)
        for size in sizes
        for slice_ in range(8)
    ]
    where = tuple(environment(rank=rank, host=name) for rank, name in enumerate(names))
    return run(*found, environments=where)


def against(base, new, tolerance=0.1):
    baseline = Baseline.of(base, "base.jsonl")
    expected = Expectations({}, baseline, tolerance)
    return document(new, flags=False, expectations=expected)


def test_the_same_again_is_as_expected():
    found = against(hosts_run("abc"), hosts_run("abc"))
    assert not fails(found)
    assert lines(found) == ["as expected: 3 rows against base.jsonl, within 10 %"]


def test_a_link_that_was_slow_already_does_not_fall_short():
    slow = hosts_run("abcd", "ac")
    assert not fails(against(slow, slow))
    assert not fails(against(slow, hosts_run("abcd")))


def test_a_link_that_has_become_slow_is_named():
    found = against(hosts_run("abcd"), hosts_run("abcd", "ac"))
    (short,) = shortfalls(found)
    assert (short.hosts, short.against, short.is_sure) == (("a", "c"), "baseline", True)
    (line,) = lines(found)
    assert line.startswith("falls short: a to c: tcp pingpong 8 latency 40.")
    assert line.endswith(" us, baseline 20.0 us within 10 %")


def test_a_host_is_named_once_for_all_links_and_sizes():
    sizes = (8, 64, 512)
    found = against(hosts_run("abcd", sizes=sizes), hosts_run("abcd", "b", sizes=sizes))
    assert [short.hosts for short in shortfalls(found)] == [("b",)] * 3
    (line,) = lines(found)
    assert line.startswith("falls short: b: tcp pingpong ")
    assert "on 3 of its 3 links, baseline 20.0 us within 10 %, and in 2 more rows" in line


def test_a_pair_that_is_new_is_compared_with_the_median_link():
    base = hosts_run("abcd", "ab")
    found = against(base, hosts_run("axyz"))
    assert lines(found) == [
        "as expected: 6 rows against base.jsonl, 6 of them with its median link, within 10 %"
    ]
    (short,) = shortfalls(against(base, hosts_run("axyz", "xz")))
    assert short.hosts == ("x", "z")
    assert short.expected == pytest.approx(20e-6, rel=0.01)


def test_who_initiates_does_not_matter():
    base = hosts_run("ab", "ab")
    turned = hosts_run("ba", "ab")
    assert not fails(against(base, turned))


def test_both_intervals_count():
    """A fifth slower; each interval reaches so far that this may be chance."""
    found = against(hosts_run("ab"), hosts_run("ab", "ab", by=1.2))
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
    found = against(hosts_run("ab"), hosts_run("ab", wait="spin"))
    assert fails(found)
    assert lines(found) == ["not judged: tcp pingpong 8, of which base.jsonl has nothing like it"]


def plan(**options):
    return make_plan(options_layer(options))


@pytest.mark.parametrize(
    ("options", "lacks"),
    [
        ({"transport": "tcp", "sizes": "8"}, None),
        ({"transport": "tcp,udp", "sizes": "8"}, "udp pingpong 8"),
        ({"transport": "tcp", "sizes": "8,64"}, "tcp pingpong 64"),
        ({"transport": "tcp", "sizes": "8", "pattern": "stream"}, "tcp stream 8"),
        ({"transport": "tcp", "sizes": "1..64"}, "tcp pingpong 1, tcp pingpong 2, tcp pingpong 4"),
        # It was skipped, and will be again.
        ({"transport": "tcp,mpi", "sizes": "8"}, None),
    ],
)
def test_a_file_without_what_is_measured_is_refused(options, lacks):
    base = hosts_run("ab")
    if lacks is None:
        check_baseline(base, "base.jsonl", plan(**options))
        return
    with pytest.raises(UsageError, match=f"^--baseline: base.jsonl has no {lacks}"):
        check_baseline(base, "base.jsonl", plan(**options))


def test_a_file_of_nothing_is_refused():
    nothing = run(skips=(Skip(transport="tcp", reason="no network"),))
    with pytest.raises(UsageError, match="has no measurements; measure the same as there"):
        check_baseline(nothing, "base.jsonl", plan(transport="tcp", sizes="8"))


@pytest.fixture
def saved(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(hosts_run("abc"), tmp_path / "base.jsonl")
    save(hosts_run("abc", "b"), tmp_path / "new.jsonl")


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({}, 0),
        ({"baseline": "base.jsonl"}, 1),
        ({"baseline": "base.jsonl", "tolerance": "99%"}, 1),
        ({"baseline": "new.jsonl"}, 0),
        ({"expect": "latency=30us"}, 1),
        ({"expect": "latency=30us", "tolerance": "50%"}, 0),
        ({"expect": "latency=30us", "format": "json"}, 1),
    ],
)
def test_an_existing_run_is_judged(saved, capsys, options, status):
    assert show_runs(["new.jsonl"], Shown(**options)) == status
    said = capsys.readouterr().out
    assert ("falls short: b: " in said or '"against": ' in said) == bool(status)


def test_views_come_with_the_verdict(saved, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert show_runs(["new.jsonl"], Shown(views=["details"], baseline="base.jsonl")) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("falls short: b: ")
    assert show_runs(["new.jsonl"], Shown(views=["details"])) == 0
    assert "falls short" not in capsys.readouterr().out


def test_only_what_is_selected_is_judged(saved):
    chosen = Shown(baseline="base.jsonl", selection=Selection(pairs=((0, 2),)))
    assert show_runs(["new.jsonl"], chosen) == 0


def test_of_many_that_fall_short_some_have_a_line():
    """Pairs that have nothing in common: no host has most of it."""
    names = [f"n{number}" for number in range(24)]
    pairs = [(number, number + 1) for number in range(0, 24, 2)]
    found = against(hosts_run(names, pairs=pairs), hosts_run(names, names, pairs=pairs))
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
    of = hosts_run("ab")
    of.header.plan["baseline"] = "/dev/stdin"
    save(of, tmp_path / "named.jsonl")
    assert show_runs(["named.jsonl"], Shown()) == 0
    assert "baseline: /dev/stdin; show --baseline FILE compares" in capsys.readouterr().out
