"""Who falls short of --expect, and of the same links of an earlier run; and who only may."""

import json

import msgspec
import pytest

from halftrip.analysis.baseline import Baseline, check_baseline
from halftrip.analysis.expectation import Expectations, fails, judged, shortfalls
from halftrip.cli.run import run_plan
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.plan.expectations import expected
from halftrip.plan.layers import file_layer, make_plan, options_layer, python_layer
from halftrip.plan.plan import plan_record
from halftrip.plan.recipes import path_of
from halftrip.report.document import document
from halftrip.report.selection import Selection
from halftrip.results.records import LostHost, Skip
from halftrip.views import nodes
from halftrip.views.expected import lines
from harness.moving import moving
from harness.runs import between_hosts, environment, measurement, planned, run, save, stream

TWO = (environment(0, host="n0"), environment(1, host="n1"))


def hosts(count, slow=(), expect="latency=20us", **changes):
    """All pairs of hosts n0, n1, ..., judged."""
    names = [f"n{rank}" for rank in range(count)]
    plan = planned(expect=expect, tolerance=0.1)
    return document(between_hosts(names, slow, header=plan, **changes), flags=False)


def test_who_falls_short_is_named_once_as_a_host_or_a_link_by_its_figures():
    assert shortfalls(hosts(4)) == []
    assert lines(hosts(4)) == ["as expected: latency 20.0 us, within 10 %"]
    (short,) = shortfalls(hosts(4, ("n2",)))
    assert (short.hosts, short.links, short.is_sure) == (("n2",), (3, 3), True)
    (line,) = lines(hosts(4, ("n2",)))
    assert line.startswith("falls short: n2: tcp pingpong latency ")
    assert line.endswith(" us on 3 of its 3 links, expected 20.0 us within 10 %")
    (short,) = shortfalls(hosts(5, ("n1", "n3")))
    assert (short.hosts, short.is_sure) == (("n1", "n3"), True)
    (short,) = shortfalls(hosts(2, expect="latency=5us"))
    assert short.hosts == ("n0", "n1")
    # What has no interval is judged by its figure.
    assert fails(hosts(2, expect="latency=1us", slices=1))
    # Rates, by streams.
    for expect, falls in (("messages=1", False), ("messages=1G", True)):
        found = document(run(stream(), header=planned(expect=expect)), flags=False)
        assert bool(shortfalls(found)) is falls


@pytest.mark.parametrize(("share", "falls"), [(0.99, False), (1.5, True)])
def test_of_both_directions_one_is_judged(share, falls):
    pair = measurement("tcp", 64 << 10, "block", half_ns=50_000.0, pattern="bidirectional")
    (row,) = document(run(pair, environments=TWO), flags=False).rows
    one_way = share * row.bandwidth / 2 / 1e6
    plan = planned(expect=f"bandwidth={one_way:.0f}MB", tolerance=0.05)
    assert fails(document(run(pair, header=plan, environments=TWO), flags=False)) == falls


def test_what_nothing_measures_and_a_host_that_was_lost_fail():
    found = hosts(2, expect="latency=1s,messages=1M/s")
    assert fails(found)
    assert lines(found) == [
        "as expected: latency 1,000,000 us, within 10 %",
        "not judged: messages was expected, and no row has it",
    ]
    assert not fails(hosts(2, expect="latency=1s"))
    # Somebody may have made up a plan.
    for expect in (7, "x", None, []):
        made = run(measurement(), header=planned(expect=expect))
        assert lines(document(made, flags=False)) == []
    whole = hosts(3)
    assert not fails(whole)
    lost = (LostHost(host="n3", ranks=[3], reason="rank 3 on n3 died"),)
    assert fails(document(msgspec.structs.replace(whole.run, lost=lost), flags=False))


def test_what_is_no_expectation_is_refused():
    for text, said in (
        ("latency", "is not a time"),
        ("speed=1", "'speed' is not known; write latency=3us, bandwidth=11GB/s, messages=1M/s"),
        ("latency=0s", "out of range"),
        ("latency=1us,latency=2us", "latency is expected twice"),
        ("bandwidth=fast", "is not a rate"),
        ("bandwidth=10Gbps", r"'10Gbps' is not a rate; write bytes per second as "),
        ("messages=1Mi", "is not a number of messages"),
    ):
        with pytest.raises(UsageError, match=said):
            make_plan(options_layer({"expect": text}))
    assert expected("bandwidth=10Gbit/s") == {"bandwidth": 1.25e9}
    assert expected("bandwidth=800kbit") == {"bandwidth": 1e5}


def test_a_tolerance_is_of_what_is_expected():
    with pytest.raises(UsageError, match=r"^--tolerance: only with --expect or --baseline$"):
        run_plan(None, {"tolerance": "5%"}, with_config=False)
    # A user's own default is for the runs that expect something.
    default = options_layer({"tolerance": "5%"})
    assert make_plan(options_layer({}), defaults=default).tolerance is None
    expect = options_layer({"expect": "latency=3us, bandwidth=11GB/s"})
    plan = make_plan(expect, defaults=default)
    assert plan.tolerance == 0.05
    assert make_plan(python_layer(plan_record(plan))) == plan


def test_settings_are_judged_each_by_itself():
    """A host is slow where its receivers sleep, on both its links; where they poll, it is not."""
    sleep = between_hosts(("n0", "n1", "n2"), ("n0",), header=planned(expect="latency=20us"))
    spin = between_hosts(("n0", "n1", "n2"), wait="spin")
    every = msgspec.structs.replace(sleep, measurements=(*sleep.measurements, *spin.measurements))
    (short,) = shortfalls(document(every, flags=False))
    assert (short.hosts, short.links) == (("n0",), (2, 2))


def test_a_plan_to_judge_by_says_how_to_say_what_is_expected():
    """As the recipe `acceptance` is."""
    plan = make_plan(file_layer(path_of("acceptance")))
    assert Expectations.of_plan(plan_record(plan)).asked
    found = document(run(measurement(), header=planned(tolerance=plan.tolerance)))
    (said,) = lines(found)
    assert said.startswith("not judged: nobody has said what is expected")
    assert "--expect latency=2us,bandwidth=10GB/s or --baseline RUN" in said
    assert not fails(found)
    assert lines(document(run(measurement(), header=planned()))) == []
    asked = planned(baseline="good.jsonl", tolerance=0.1)
    (said,) = lines(document(run(measurement(), header=asked)))
    assert said.startswith("baseline: good.jsonl;")


# Against an earlier run.


def against(base, new, tolerance=0.1):
    baseline = Baseline.of(base, "base.jsonl")
    expected = Expectations({}, baseline, tolerance)
    return document(new, flags=False, expectations=expected)


def test_a_link_has_become_slow_or_was_so_already():
    slow = between_hosts("abcd", "ac")
    found = against(slow, slow)
    assert not fails(found)
    assert lines(found) == ["as expected: 6 rows against base.jsonl, within 10 %"]
    assert not fails(against(slow, between_hosts("abcd")))
    # Who initiates does not matter.
    assert not fails(against(between_hosts("ab", "ab"), between_hosts("ba", "ab")))
    # One that has become slow is named.
    found = against(between_hosts("abcd"), between_hosts("abcd", "ac"))
    (short,) = shortfalls(found)
    assert (short.hosts, short.against, short.is_sure) == (("a", "c"), "baseline", True)
    (line,) = lines(found)
    assert line.startswith("falls short: a to c: tcp pingpong 8 B latency 40.")
    assert line.endswith(" us, baseline 20.0 us within 10 %")
    # A host is named once for all links and sizes.
    sizes = (8, 64, 512)
    found = against(between_hosts("abcd", sizes=sizes), between_hosts("abcd", "b", sizes=sizes))
    assert [short.hosts for short in shortfalls(found)] == [("b",)] * 3
    (line,) = lines(found)
    assert line.startswith("falls short: b: tcp pingpong ")
    assert "on 3 of its 3 links, baseline 20.0 us within 10 %, and in 2 more rows" in line
    # A pair that is new is compared with the median link.
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


def test_like_states_are_compared():
    """Most of the new run was far, most of the base near: neither falls short of the other."""
    found = against(moving(1, share=0.3), moving(2, share=0.7))
    assert not shortfalls(found)
    assert {(each.transport, each.state) for each in judged(found)} == {
        ("shm", "near"),
        ("shm", "far"),
        ("tcp", ""),
    }
    assert lines(found) == ["as expected: 2 rows against base.jsonl, within 10 %"]
    slower = against(moving(1, share=0.3), moving(2, share=0.7, factor=1.3))
    assert {each.state for each in shortfalls(slower) if each.transport == "shm"} == {"near", "far"}
    assert any(": shm pingpong 8 B latency, near, 0.0" in line for line in lines(slower))
    alone = against(moving(1, share=0.0), moving(2, share=0.3))
    assert not fails(alone)


def test_states_without_a_common_one_cannot_be_told_and_each_is_judged_by_what_is_expected():
    found = against(moving(1, share=0.0), moving(2, share=1.0))
    (said,) = lines(found)
    assert said.startswith(
        "cannot tell: shm pingpong 8 B, tcp pingpong 8 B: cores were at 92 ns, now at 278. --"
    )
    assert not fails(found)
    (node,) = map(json.loads, nodes.render(found).splitlines())
    assert node["verdict"] == "unsure"
    assert node["reason"].endswith("cores were at 92 ns, now at 278")
    run_ = msgspec.structs.replace(moving(), header=planned(expect="latency=80ns"))
    found = document(run_, flags=False)
    (short,) = [each for each in shortfalls(found) if each.transport == "shm"]
    assert (short.state, short.is_sure) == ("far", True)
    assert any("shm pingpong latency, far, 0.1" in line for line in lines(found))


def test_a_row_of_the_baseline_that_is_gone_fails_and_other_settings_are_not_compared():
    plan_ = planned(transport=["tcp"], pattern=["pingpong"], sizes="8,64")
    base = between_hosts("ab", sizes=(8, 64))
    new = between_hosts("ab", header=plan_)
    found = against(base, new)
    assert fails(found)
    assert lines(found)[-1] == (
        "not judged: tcp pingpong 64 B, which base.jsonl has, and this run has not"
    )
    assert not fails(against(base, between_hosts("ab", header=planned(sizes="8"))))
    found = against(between_hosts("ab"), between_hosts("ab", wait="spin"))
    assert fails(found)
    assert lines(found) == ["not judged: tcp pingpong 8 B, of which base.jsonl has nothing like it"]


def plan(**options):
    return make_plan(options_layer({"transport": "tcp", "sizes": "8"} | options))


def test_a_file_without_what_is_measured_is_refused():
    base = between_hosts("ab")
    check_baseline(base, "base.jsonl", plan())
    # It was skipped, and will be again.
    check_baseline(base, "base.jsonl", plan(transport="tcp,mpi"))
    for options, lacks in (
        ({"transport": "tcp,udp"}, "udp pingpong 8 B"),
        ({"pattern": "stream"}, "tcp stream 8 B"),
        ({"sizes": "1..64"}, "tcp pingpong 1 B, tcp pingpong 2 B, tcp pingpong 4 B"),
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
    assert show_runs(["new.jsonl"], ShowRequest(**options)) == status
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


def test_a_file_says_which_baseline_it_had_and_opens_none(saved, tmp_path, capsys):
    """Anybody may have written the name."""
    of = between_hosts("ab")
    of.header.plan["baseline"] = "/dev/stdin"
    save(of, tmp_path / "named.jsonl")
    assert show_runs(["named.jsonl"], ShowRequest()) == 0
    assert "baseline: /dev/stdin; show --baseline FILE compares" in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"^--tolerance: only with --expect or --baseline$"):
        show_runs(["named.jsonl"], ShowRequest(tolerance="5%"))
