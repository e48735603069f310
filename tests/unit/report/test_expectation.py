"""Who falls short of --expect, and who only may."""

from itertools import combinations

import msgspec
import pytest

from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, options_layer, python_layer
from halftrip.plan.plan import plan_record
from halftrip.report.document import document
from halftrip.report.expectation import lines, shortfalls
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
    found = hosts(3)
    assert lines(found._replace(run=run())) == []


def test_who_reaches_it_is_not_named():
    assert shortfalls(hosts(4)) == []
    assert lines(hosts(4)) == ["as expected: latency 20.0 us, within 10 %"]


def test_a_host_is_named_once_for_all_its_links():
    (short,) = shortfalls(hosts(4, ("n2",)))
    assert (short.hosts, short.links, short.is_sure) == (("n2",), (3, 3), True)
    (line,) = lines(hosts(4, ("n2",)))
    assert line.startswith("falls short: n2: tcp latency ")
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


@pytest.mark.parametrize("plan", [{"expect": 7}, {"expect": "x"}, {"expect": None}, {"expect": []}])
def test_a_made_up_plan_expects_nothing(plan):
    found = hosts(2)
    assert lines(found._replace(run=run(header=header(plan=plan)))) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("latency", "is not a time"),
        ("speed=1", "'speed' is not known; write latency=3us, bandwidth=11GB/s, messages=1M/s"),
        ("latency=0s", "out of range"),
        ("latency=1us,latency=2us", "latency is expected twice"),
        ("bandwidth=fast", "is not a size"),
        ("messages=1Mi", "is not a number of messages"),
    ],
)
def test_what_is_no_expectation_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        make_plan(options_layer({"expect": text}))


def test_a_plan_keeps_what_is_expected():
    plan = make_plan(options_layer({"expect": "latency=3us, bandwidth=11GB/s", "tolerance": "5%"}))
    assert make_plan(python_layer(plan_record(plan))) == plan
    assert plan.tolerance == 0.05
