"""Rows that forks have judged: those that one process makes."""

import msgspec
import numpy as np
import pytest

from halftrip.analysis import rows as judging
from halftrip.analysis.figures import row_fields
from halftrip.analysis.rows import in_every_state, in_part, rows
from halftrip.results.run_file import load
from harness import runs
from harness.arrivals import BOOTED, SECOND, block, ping_pong
from harness.files import ROOT
from harness.moving import moving


def of_pairs():
    """Rows of a pair that contradict each other, with usage, of which another pair has one."""
    used = {"usage": (runs.usage(), runs.usage(load=0.9)), "pair": (0, 1)}
    return runs.run(
        *(runs.measurement("tcp", 1 << n, half_ns=100.0 + 900 * (n == 4), slice=slice_, **used)
          for n in range(8) for slice_ in range(3)),
        *(runs.stream(slice=slice_) for slice_ in range(2)),
        runs.measurement("tcp", pair=(1, 2)),
        environments=tuple(map(runs.environment, range(3))),
    )  # fmt: skip


def one_way():
    even, back = np.full(100, 40_000.0), np.full(100, 60_000.0)
    made = [block(even, back, BOOTED + n * SECOND) for n in range(6)]
    run, _ = ping_pong(made, hosts=("a", "a"), latency=50_000)
    other = runs.measurement("shm", 8)
    return msgspec.structs.replace(run, measurements=(*run.measurements, other))


RUNS = {
    "states": moving,
    "pairs": of_pairs,
    "one way": one_way,
    "golden": lambda: load(ROOT / "tests/golden/formats/1.jsonl"),
    "varied": lambda: load(ROOT / "tests/golden/formats/1-varied.jsonl"),
}


@pytest.mark.parametrize("flags", [False, True])
@pytest.mark.parametrize("name", RUNS)
def test_rows_that_forks_have_judged_are_the_same(name, flags, monkeypatch):
    run = RUNS[name]()
    alone = rows(run, flags)
    monkeypatch.setattr(judging, "usable_cores", lambda: 2)
    # Groups of rows each by themselves.
    monkeypatch.setattr(judging, "_BATCH", 1)
    shared = rows(run, flags, many=1)
    assert [len(row.others) for row in shared] == [len(row.others) for row in alone]
    for one, other in zip(in_every_state(shared), in_every_state(alone), strict=True):
        # As text, in which what is not known is equal.
        assert str(row_fields(one)) == str(row_fields(other))
        assert (one.verdict, one.flags, one.with_rtt) == (
            (other.verdict, other.flags, other.with_rtt)
        )  # fmt: skip
        assert one.configuration is other.configuration
        assert one.measured.measurements is other.measured.measurements
        for part, same in zip(one.measured.parts, other.measured.parts, strict=True):
            assert str(in_part(one, part).summary) == str(in_part(other, same).summary)
        if one.state is not None:
            assert one.state.quantity is other.state.quantity
        if one.one_way is not None:
            assert (one.one_way.there, one.one_way.is_uneven) == (
                (other.one_way.there, other.one_way.is_uneven)
            )  # fmt: skip
    for row in shared:
        assert all(each.measured is row.measured for each in row.others)
