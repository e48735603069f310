"""What pairs lose beside others, of runs whose truth is known."""

import msgspec
import pytest

from halftrip.analysis.congestion import judged, together
from halftrip.analysis.rows import rows
from halftrip.plan.congestion import congested
from halftrip.results.background import BackgroundTraffic
from halftrip.views.screen import first_screen
from harness import runs
from harness.screens import text

HOSTS, PAIRS = congested([f"n{number}" for number in range(6)], 3)
TRAFFIC = BackgroundTraffic(bytes=10**7, ns=10**9, running=1.0, load=0.1, own_cores=True)


def a_run(seed, suffers=None, slices=8):
    """Each pair alone, and beside others three times as long; nine times, where it `suffers`."""
    found = []
    for number, pair in enumerate(PAIRS):
        others = 5 if number < 5 else 6
        for count, background in ((1, "none"), (others, "stream:tcp:64K")):
            times = 1.0 if count == 1 else 9.0 if pair == suffers else 3.0
            for slice_ in range(slices):
                made = runs.measurement(
                    "tcp", 64, "block", 1e4 * times, seed=(seed, number, count, slice_),
                    slice=slice_, background=background, pair=pair, concurrency=count,
                )  # fmt: skip
                made = msgspec.structs.replace(made, background=TRAFFIC if count > 1 else None)
                found.append(made)
    where = tuple(runs.environment(rank, host=host) for rank, host in enumerate(HOSTS))
    return runs.run(*found, environments=where)


@pytest.mark.parametrize("seed", range(4))
def test_a_pair_that_suffers_more_is_named_and_none_where_all_suffer_alike(seed):
    even = together(rows(a_run(seed)))
    assert [len(found.rows) for found in even] == [5, 6]
    assert not any(found.worst for found in even)
    assert all(2.8 < each.factor.value < 3.2 for found in even for each in found.rows)
    for number in (1, 7):
        planted = together(rows(a_run(seed, PAIRS[number])))
        named = [found.rows[0].row.configuration.pair for found in planted if found.worst]
        assert named == [PAIRS[number]]


def test_a_pair_that_is_nearer_while_it_is_alone_is_not_worse():
    run = a_run(1)
    found = together(rows(run))[0]
    near = [
        each._replace(factor=each.factor.scaled(3.0)) if number == 2 else each
        for number, each in enumerate(found.rows)
    ]
    assert not judged(found.setting, near).worst


def test_the_first_screen_names_it():
    shown = " ".join(text(first_screen, a_run(1, PAIRS[1])).split())
    assert "incast to n0, 5 pairs at once: tcp pingpong 64 B, beside stream:tcp:64K: 3.0 x" in shown
    assert "worst: n2 to n0: 9.0" in shown
    assert "6 pairs at once: tcp pingpong 64 B, beside stream:tcp:64K: 3.0 x the time" in shown
    assert "no pair is surely worse than the others" in shown
