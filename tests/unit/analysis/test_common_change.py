"""What all paths have in common may be the machine: no change is told of it."""

import numpy as np
import pytest

from halftrip.analysis.comparison import compare
from halftrip.views.compare import answer
from harness.compared import launches, side

MANY = [8 << n for n in range(8)]


def of_paths(factors, seed=0, rtt=150.0):
    """A run of paths whose times are multiplied by these factors, as those of a machine are, at a
    core-to-core round trip of `rtt` ns."""
    generator = np.random.default_rng(seed)
    return [
        each
        for transport, factor in factors.items()
        for size in MANY
        for each in launches(
            factor * 100 * generator.normal(1, 0.003, 8),
            size=size,
            transport=transport,
            rtts=(rtt, rtt),
        )
    ]


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        # As one machine may be, for minutes: all paths alike.
        ((1.04, 1.04, 1.04), ("cannot tell", "cannot tell", "cannot tell")),
        ((0.96, 0.96, 0.96), ("cannot tell", "cannot tell", "cannot tell")),
        # No machine does that to one path.
        ((1.05, 1, 1), ("slower", "same", "same")),
        ((1.1, 1.04, 1.04), ("slower", "cannot tell", "cannot tell")),
        ((0.96, 1.05, 1), ("faster", "slower", "same")),
        # Nor so much to all.
        ((1.1, 1.1, 1.1), ("slower", "slower", "slower")),
    ],
)
def test_what_all_paths_have_in_common_may_be_the_machine(factors, words):
    names = ("shm", "mpi", "tcp")
    base = side(of_paths(dict.fromkeys(names, 1.0)))
    new = side(of_paths(dict(zip(names, factors, strict=True)), seed=1), name="b")
    (found,) = compare(base, [new])
    for name, word in zip(names, words, strict=True):
        rows = [row for row in found.rows if row.configuration.transport == name]
        of_word = sum(row.word == word for row in rows)
        assert (word, of_word) == (word, len(MANY))
    untold = [row for row in found.rows if row.word == "cannot tell"]
    assert all(row.reason.endswith(" times as long") for row in untold)
    assert {row.launches for row in untold} <= {None}
    said = [line for line in answer(found) if line.startswith("Cannot tell of ")]
    assert [line.split(":")[0] for line in said] == (
        [f"Cannot tell of {len(untold)} rows"] if untold else []
    )
    # Measured in turn, both have the same machine.
    rounds = {n: n % 8 for n in range(16)}
    paired = (each._replace(rounds=rounds) for each in (base, new))
    (found,) = compare(next(paired), [*paired])
    changed = found.counts["slower"] + found.counts["faster"]
    assert changed == len(MANY) * sum(factor != 1 for factor in factors)


def test_two_runs_have_the_same_in_common_either_way():
    one = side(of_paths({"shm": 1.0, "mpi": 1.0}))
    other = side(of_paths({"shm": 1.03, "mpi": 1.03}, seed=1), name="b")
    there, back = (compare(base, [new])[0] for base, new in ((one, other), (other, one)))
    assert [row.elsewhere for row in there.rows] == pytest.approx(
        [row.elsewhere and 1 / row.elsewhere for row in back.rows]
    )


def test_the_round_trip_and_the_other_paths_do_not_explain_a_change_twice():
    names = ("shm", "mpi", "tcp")
    base = side(of_paths(dict.fromkeys(names, 1.0), rtt=100.0))
    factors = dict(zip(names, (1.07, 1.04, 1.04), strict=True))
    new = side(of_paths(factors, seed=1, rtt=104.0), name="b")
    (found,) = compare(base, [new])
    slower = {row.configuration.transport for row in found.rows if row.word == "slower"}
    assert (slower, found.counts["slower"]) == ({"shm"}, len(MANY))
