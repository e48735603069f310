"""Many pairs: who talks to whom, and what they get through together."""

import itertools
import os

import pytest

from harness.mpi import EVERY_MPI, chosen, job, quick_start

QUICK = ("-s", "8", "--time", "20ms", "--ci", "none")
EVERYBODY = set(itertools.combinations(range(4), 2))


def check_every_pair(run, transports):
    """All pairs of four ranks appear once for each transport and pattern, two at a time."""
    patterns = ("pingpong", "stream")
    for kind in itertools.product(transports, patterns):
        pairs = [c.pair for c in run.by_configuration if (c.transport, c.pattern) == kind]
        assert sorted(pairs) == sorted(EVERYBODY)
    assert len(run.by_configuration) == len(EVERYBODY) * len(transports) * len(patterns)
    # One for each slice that all pairs of a round have.
    rounds = {(a.configuration.setting, *sorted(a.pairs)) for a in run.aggregates}
    assert len(rounds) == 3 * len(transports) * len(patterns)
    for aggregate in run.aggregates:
        assert sorted(itertools.chain(*aggregate.pairs)) == [0, 1, 2, 3]
        # Where ranks share cores, a slice may have no moment at which all were active.
        assert not aggregate.spans or aggregate.rate > 0
    assert any(aggregate.spans for aggregate in run.aggregates)


def check_oversubscribed(result):
    """Every one of four ranks that shares its core says so, and every row of such a rank."""
    run = result.run
    cores = [environment.core for environment in run.environments]
    assert len(set(cores)) == min(4, len(os.sched_getaffinity(0)))
    shared = [cores.count(core) > 1 for core in cores]
    assert [environment.oversubscribed for environment in run.environments] == shared
    rows = result.rows()
    assert len(rows) == len(run.by_configuration)
    flagged = sum("oversubscribed" in row["flags"] for row in rows)
    assert flagged == sum(
        any(shared[rank] for rank in configuration.pair) for configuration in run.by_configuration
    )
    assert ("oversubscribed" in result.out) == any(shared)


def test_all_pairs_talk_two_at_a_time(shell):
    result = shell.run(
        *("-n", "4", "-t", "shm,tcp", "-p", "pingpong,stream", "--window", "4"),
        *("--pairs", "all", *QUICK),
    )
    assert result.status == 0, result.err
    check_every_pair(result.run, ("shm", "tcp"))
    check_oversubscribed(result)
    assert result.out.count("aggregate: tcp stream 8, ranks") == 3


@pytest.mark.extended
@pytest.mark.parametrize("name", EVERY_MPI)
def test_all_pairs_of_a_job_talk_two_at_a_time(shell, name):
    result = shell.run(
        *("-t", "mpi,shm", "-p", "pingpong,stream", "--window", "4", "--pairs", "all", *QUICK),
        prefix=job(name, ranks=4),
        **quick_start(name),
    )
    assert result.status == 0, result.err
    check_every_pair(result.run, ("mpi", "shm"))
    check_oversubscribed(result)
    assert result.out.count("aggregate: mpi stream 8, ranks") == 3


@pytest.mark.extended
@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("halves", {(0, 2), (1, 3)}),
        ("neighbours", {(0, 1), (2, 3)}),
        ("all", EVERYBODY),
        ("0-3,1-2", {(0, 3), (1, 2)}),
    ],
)
def test_pairs_are_those_that_were_asked_for(shell, pairs, expected):
    result = shell.run("-n", "4", "-t", "tcp", "--pairs", pairs, "--concurrent-pairs", "1", *QUICK)
    assert result.status == 0, result.err
    assert {m.configuration.pair for m in result.run.measurements} == expected
    assert len(result.run.by_configuration) == len(expected)
    assert {m.configuration.concurrency for m in result.run.measurements} == {1}
    assert result.run.aggregates == ()


def test_pairs_talk_alone_and_all_at_once(shell):
    plan = ("-n", "4", "-t", "tcp", "--pairs", "all", "--concurrent-pairs", "1,all")
    result = shell.run(*plan, *QUICK)
    assert result.status == 0, result.err
    found = {(c.pair, c.concurrency) for c in result.run.by_configuration}
    assert found == set(itertools.product(itertools.combinations(range(4), 2), (1, 2)))
    assert {len(aggregate.pairs) for aggregate in result.run.aggregates} == {2}
    assert "2 pairs at once: tcp pingpong" in result.out


def test_four_ranks_are_two_pairs_whose_ends_have_different_cores(shell):
    """Even where cores are few."""
    result = shell.run("-n", "4", "-t", "shm,unix", *QUICK)
    assert result.status == 0, result.err
    run = result.run
    assert {m.configuration.pair for m in run.measurements} == {(0, 2), (1, 3)}
    assert [e.rank for e in run.environments] == [0, 1, 2, 3]
    core = {e.rank: e.core for e in run.environments}
    assert core[0] != core[2]
    assert core[1] != core[3]
    check_oversubscribed(result)


@pytest.mark.extended
def test_three_ranks_have_three_pairs(shell):
    result = shell.run("-n", "3", "--pairs", "all", "-t", "unix", *QUICK)
    assert result.status == 0, result.err
    assert sorted(configuration.pair for configuration in result.run.by_configuration) == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]


def check_threads(result, transports):
    assert result.status == 0, result.err
    run = result.run
    assert run.failures == ()
    for transport in transports:
        configurations = [
            configuration
            for configuration in run.by_configuration
            if configuration.transport == transport
        ]
        expected = list(itertools.product(("pingpong", "stream"), (0, 1)))
        assert sorted((c.pattern, c.thread) for c in configurations) == expected
        assert {c.concurrency for c in configurations} == {2}
    assert {len(aggregate.pairs) for aggregate in run.aggregates} == {2}
    assert "2 threads each" in result.out


def test_threads_talk_at_the_same_time(shell):
    threads = ("-p", "pingpong,stream", "--threads", "2", "--verify")
    check_threads(shell.run("-t", "shm,tcp", *threads, *QUICK), ("shm", "tcp"))


@pytest.mark.extended
@pytest.mark.parametrize("name", ["wheel", "mpich"])
def test_threads_of_mpi_talk_at_the_same_time(shell, name):
    threads = ("-p", "pingpong,stream", "--threads", "2", "--verify")
    # Four threads that poll on two cores: each lets the others run.
    yielding = quick_start(name) | {"OMPI_MCA_mpi_yield_when_idle": "1"}
    result = shell.run("-t", "mpi,shm,tcp", *threads, *QUICK, *chosen(name), **yielding)
    check_threads(result, ("mpi", "shm", "tcp"))
