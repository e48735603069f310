"""What pairs get that talk at the same time, of what they get alone."""

from itertools import combinations

from halftrip.report.concurrency import by_limit, least, ratios
from halftrip.report.document import document
from halftrip.results.names import Names
from harness.runs import environment, measurement, run

HOSTS = {0: "n1", 1: "n2", 2: "n3", 3: "n4"}
NAMES, NONE = Names(HOSTS), Names({})


def rows(slower, size=8, concurrency=2):
    """Four hosts, each with each other: alone, and two pairs at once, when they take `slower(pair)`
    times as long."""
    found = [
        measurement(
            "tcp",
            size=size,
            half_ns=20_000.0 * (1.0 if number == 1 else slower(pair)),
            pair=pair,
            concurrency=number,
        )
        for pair in combinations(range(4), 2)
        for number in (concurrency, 1)
    ]
    environments = tuple(environment(rank=rank, host=HOSTS[rank]) for rank in range(4))
    return document(run(*found, environments=environments)).rows


def test_rows_of_one_limit_are_together_and_it_may_leave_a_round_with_fewer():
    """Three at once of four pairs leave one, which has no other row beside it."""
    found = rows(lambda _: 2.0, concurrency=3)
    assert [len(each) for each in by_limit(found)] == [6, 6]
    left = [row for row in found if row.configuration.pair != (0, 1)]
    left += [row for row in found if row.configuration.pair == (0, 1)][:1]
    assert [len(each) for each in by_limit(left)] == [6, 5]
    assert [
        len(each) for each in by_limit([r for r in left if r.configuration.concurrency == 3])
    ] == [5]
    assert {row.configuration.concurrency for row in least(found)} == {1}
    assert least([]) == []
    assert ratios(least(found), NONE) == []


def test_who_shares_takes_longer_and_the_worst_is_named():
    (line,) = ratios(rows(lambda pair: 3.0 if pair == (1, 3) else 1.5, concurrency=8), NAMES)
    assert line.startswith("8 pairs at once: tcp pingpong 8: 1.5 x the latency alone (median of 6")
    assert line.endswith("pairs; worst 3.0: n2 to n4)")


def test_of_large_messages_the_bandwidth_is_said():
    (line,) = ratios(rows(lambda pair: 4.0 if pair == (0, 2) else 2.0, size=64 << 10), NONE)
    assert line.startswith("2 pairs at once: tcp pingpong 64K: 0.50 x the bandwidth alone (median")
    assert line.endswith("worst 0.25: ranks 0-2)")
