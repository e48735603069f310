"""Who falls short of --expect, and who only may."""

from itertools import combinations

import msgspec
import pytest

from halftrip.cli.run import run_plan
from halftrip.errors import UsageError
from halftrip.plan.expectations import expected
from halftrip.plan.layers import file_layer, make_plan, options_layer, python_layer
from halftrip.plan.plan import plan_record
from halftrip.plan.recipes import path_of
from halftrip.report.document import document
from halftrip.report.expectation import Expectations, fails, shortfalls
from halftrip.report.expectation_lines import lines
from halftrip.results.records import LostHost
from harness.runs import environment, measurement, run, stream


def header(plan):
    """The header of a run with this plan."""
    return msgspec.structs.replace(run().header, plan=plan)


def hosts(count, slow=(), by=2.0, expect="latency=20us", tolerance=0.1):
    """All pairs of hosts n0, n1, ...; the links of which both hosts, or the only one, are in `slow`
    take `by` times as long. Eight slices each, so that there are intervals."""
    pairs = list(combinations(range(count), 2))
    found = [
        measurement(
            "tcp",
            size=8,
            wait="block",
            half_ns=20_000.0 * (by if slow and {f"n{a}", f"n{b}"} >= set(slow) else 1.0),
            pair=(a, b),
            slice=slice_,
            seed=slice_,
        )
        for a, b in pairs
        for slice_ in range(8)
    ]
    plan = {"expect": expect, "tolerance": tolerance}
    return document(
        run(
            *found,
            header=header(plan=plan),
            environments=tuple(environment(rank=rank, host=f"n{rank}") for rank in range(count)),
        ),
        flags=False,
    )


def test_without_expectations_nothing_is_said():
    assert lines(document(run(*hosts(3).run.measurements), flags=False)) == []


def test_who_reaches_it_is_not_named():
    assert shortfalls(hosts(4)) == []
    assert lines(hosts(4)) == ["as expected: latency 20.0 us, within 10 %"]


def test_a_host_is_named_once_for_all_its_links():
    (short,) = shortfalls(hosts(4, ("n2",)))
    assert (short.hosts, short.links, short.is_sure) == (("n2",), (3, 3), True)
    (line,) = lines(hosts(4, ("n2",)))
    assert line.startswith("falls short: n2: tcp pingpong latency ")
    assert line.endswith(" us on 3 of its 3 links, expected 20.0 us within 10 %")


def test_a_link_is_named_with_both_hosts():
    (short,) = shortfalls(hosts(5, ("n1", "n3")))
    assert (short.hosts, short.is_sure) == (("n1", "n3"), True)


def test_of_two_hosts_the_link_is_named():
    (short,) = shortfalls(hosts(2, expect="latency=5us"))
    assert short.hosts == ("n0", "n1")


def test_what_an_interval_leaves_open_is_said_to_be():
    """Twice as long is 3 % beyond what is allowed; the interval reaches farther than that."""
    found = hosts(2, expect="latency=18us", tolerance=0.1)
    (short,) = shortfalls(found)
    wide = [row._replace(verdict=row.verdict._replace(width=0.5)) for row in found.rows]
    (unsure,) = shortfalls(found._replace(rows=wide, latency_rows=wide))
    assert (short.is_sure, unsure.is_sure) == (True, False)
    assert lines(found._replace(rows=wide, latency_rows=wide))[0].startswith("may fall short: ")


@pytest.mark.parametrize(("expect", "falls"), [("messages=1", False), ("messages=1G", True)])
def test_rates_are_judged_by_streams(expect, falls):
    found = document(run(stream(), header=header(plan={"expect": expect})), flags=False)
    assert bool(shortfalls(found)) is falls


def test_what_nothing_measures_fails():
    """A stream was expected to be fast, and none was measured."""
    found = hosts(2, expect="latency=1s,messages=1M/s")
    assert fails(found)
    assert lines(found) == [
        "as expected: latency 1,000,000 us, within 10 %",
        "not judged: messages was expected, and no row has it",
    ]
    assert not fails(hosts(2, expect="latency=1s"))


@pytest.mark.parametrize("plan", [{"expect": 7}, {"expect": "x"}, {"expect": None}, {"expect": []}])
def test_a_made_up_plan_expects_nothing(plan):
    found = document(run(*hosts(2).run.measurements, header=header(plan=plan)), flags=False)
    assert lines(found) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latency", "is not a time"),
        ("speed=1", "'speed' is not known; write latency=3us, bandwidth=11GB/s, messages=1M/s"),
        ("latency=0s", "out of range"),
        ("latency=1us,latency=2us", "latency is expected twice"),
        ("bandwidth=fast", "is not a rate"),
        ("messages=1Mi", "is not a number of messages"),
    ],
)
def test_what_is_no_expectation_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        make_plan(options_layer({"expect": text}))


def test_a_tolerance_of_nothing_is_refused():
    with pytest.raises(UsageError, match=r"^--tolerance: only with --expect or --baseline$"):
        run_plan(None, {"tolerance": "5%"}, with_config=False)
    # A user's own default is for the runs that expect something.
    default = options_layer({"tolerance": "5%"})
    assert make_plan(options_layer({}), defaults=default).tolerance is None
    assert make_plan(options_layer({"expect": "latency=3us"}), defaults=default).tolerance == 0.05
    assert make_plan(python_layer(plan_record(make_plan()))).tolerance is None


def test_a_plan_keeps_what_is_expected():
    plan = make_plan(options_layer({"expect": "latency=3us, bandwidth=11GB/s", "tolerance": "5%"}))
    assert make_plan(python_layer(plan_record(plan))) == plan
    assert plan.tolerance == 0.05


def test_what_has_no_interval_is_judged_by_its_figure():
    """A single slice."""
    pair = measurement("tcp", 8, "block", half_ns=20_000.0)
    where = (environment(rank=0, host="n0"), environment(rank=1, host="n1"))
    alone = run(pair, header=header({"expect": "latency=1us"}), environments=where)
    assert fails(document(alone, flags=False))


def test_settings_are_judged_each_by_itself():
    """A host is slow where its receivers sleep, on both its links; where they poll, it is not."""
    found = [
        measurement(
            "tcp", 8, wait, half_ns=20_000.0 * (3 if wait == "block" and 0 in pair else 1),
            pair=pair, slice=slice_, seed=slice_,
        )
        for wait in ("spin", "block")
        for pair in combinations(range(3), 2)
        for slice_ in range(8)
    ]  # fmt: skip
    where = tuple(environment(rank=rank, host=f"n{rank}") for rank in range(3))
    made = run(*found, header=header({"expect": "latency=20us"}), environments=where)
    (short,) = shortfalls(document(made, flags=False))
    assert (short.hosts, short.links) == (("n0",), (2, 2))


def test_a_host_that_was_lost_fails_a_run():
    lost = (LostHost(host="n3", ranks=[3], reason="rank 3 on n3 died"),)
    whole = hosts(3)
    assert not fails(whole)
    made = msgspec.structs.replace(whole.run, lost=lost)
    assert fails(document(made, flags=False))


def test_bits_per_second_are_understood():
    assert expected("bandwidth=10Gbit/s") == {"bandwidth": 1.25e9}
    assert expected("bandwidth=800kbit") == {"bandwidth": 1e5}
    with pytest.raises(UsageError, match=r"^'10Gbps' is not a rate; write bytes per second as "):
        expected("bandwidth=10Gbps")


@pytest.mark.parametrize(("share", "falls"), [(0.99, False), (1.5, True)])
def test_of_both_directions_one_is_judged(share, falls):
    size = 64 << 10
    pair = measurement("tcp", size, "block", half_ns=50_000.0, pattern="bidirectional")
    where = (environment(rank=0, host="n0"), environment(rank=1, host="n1"))
    (row,) = document(run(pair, environments=where), flags=False).rows
    one_way = share * row.bandwidth / 2 / 1e6
    plan = header({"expect": f"bandwidth={one_way:.0f}MB", "tolerance": 0.05})
    assert fails(document(run(pair, header=plan, environments=where), flags=False)) == falls


def test_a_plan_to_judge_by_says_that_nothing_was_judged_and_how_to_say_what_is_expected():
    found = document(run(measurement(), header=header({"tolerance": 0.1})))
    (said,) = lines(found)
    assert said.startswith("not judged: nobody has said what is expected")
    assert "--expect latency=2us,bandwidth=10GB/s or --baseline RUN" in said
    assert not fails(found)
    assert lines(document(run(measurement(), header=header({})))) == []
    (said,) = lines(
        document(run(measurement(), header=header({"baseline": "good.jsonl", "tolerance": 0.1})))
    )
    assert said.startswith("baseline: good.jsonl;")


def test_acceptance_is_a_plan_to_judge_by():
    plan = make_plan(file_layer(path_of("acceptance")))
    assert Expectations.of_plan(plan_record(plan)).asked
    # What is written can be read again, to resume the run.
    assert make_plan(python_layer(plan_record(plan))).tolerance == 0.1
