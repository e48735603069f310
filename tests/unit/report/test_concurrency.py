"""What pairs get that talk at the same time, of what they get alone."""

from itertools import combinations

import pytest

from halftrip.report.concurrency import by_limit, least, ratios
from halftrip.report.document import document
from halftrip.results.names import Names
from harness.runs import environment, measurement, run

HOSTS = {0: "n1", 1: "n2", 2: "n3", 3: "n4"}
NAMES, NONE = Names(HOSTS), Names({})


def rows(slower, size=8, concurrency=2, pattern="pingpong"):
    """Four hosts, each with each other: alone, and two pairs at once, when they take `slower(pair)`
    times as long."""
    found = [
        measurement(
            "tcp",
            size=size,
            pattern=pattern,
            half_ns=20_000.0 * (1.0 if number == 1 else slower(pair)),
            pair=pair,
            concurrency=number,
        )
        for pair in combinations(range(4), 2)
        for number in (concurrency, 1)
    ]
    environments = tuple(environment(rank=rank, host=HOSTS[rank]) for rank in range(4))
    return document(run(*found, environments=environments)).rows


def test_rows_of_one_limit_are_together():
    found = by_limit(rows(lambda _: 2.0))
    assert [{row.configuration.concurrency for row in each} for each in found] == [{1}, {2}]
    assert [len(each) for each in found] == [6, 6]


def test_a_limit_may_leave_a_round_with_fewer():
    """Three at once of four pairs leave one, which has no other row beside it."""
    found = rows(lambda _: 2.0, concurrency=3)
    left = [row for row in found if row.configuration.pair != (0, 1)]
    left += [row for row in found if row.configuration.pair == (0, 1)][:1]
    assert [len(each) for each in by_limit(left)] == [6, 5]
    assert [
        len(each) for each in by_limit([r for r in left if r.configuration.concurrency == 3])
    ] == [5]


def test_the_fewest_at_once_are_alone():
    assert {row.configuration.concurrency for row in least(rows(lambda _: 2.0))} == {1}
    assert least([]) == []


def test_who_shares_takes_longer_and_the_worst_is_named():
    (line,) = ratios(rows(lambda pair: 3.0 if pair == (1, 3) else 1.5), NAMES)
    assert line.startswith("2 pairs at once: tcp pingpong 8: 1.5 x the latency alone (median of 6")
    assert line.endswith("pairs; worst 3.0: n2 to n4)")


def test_of_large_messages_the_bandwidth_is_said():
    (line,) = ratios(rows(lambda pair: 4.0 if pair == (0, 2) else 2.0, size=64 << 10), NONE)
    assert line.startswith("2 pairs at once: tcp pingpong 64K: 0.50 x the bandwidth alone (median")
    assert line.endswith("worst 0.25: ranks 0-2)")


def test_nothing_is_said_of_one_limit():
    assert (
        ratios([row for row in rows(lambda _: 2.0) if row.configuration.concurrency == 1], NONE)
        == []
    )


@pytest.mark.parametrize("concurrency", [2, 8])
def test_how_many_were_at_once_is_said(concurrency):
    (line,) = ratios(rows(lambda _: 2.0, concurrency=concurrency), NAMES)
    assert line.startswith(f"{concurrency} pairs at once: ")
