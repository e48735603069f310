"""Many pairs: who talks to whom, and what they get through together."""

import itertools
import os

import pytest

from harness.choice import extended
from harness.mpi import chosen, job, quick_start

QUICK = ("-s", "8", "--time", "20ms", "--ci", "none", "-r", "3")
# Of four ranks or threads that poll on two cores, each lets the others run.
YIELDING = {"OMPI_MCA_mpi_yield_when_idle": "1"}
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


@pytest.mark.parametrize("name", [None, *extended("wheel", "mpich")])
def test_all_pairs_talk_two_at_a_time(shell, name):
    options = ("-p", "pingpong,stream", "--window", "4", "--pairs", "all", *QUICK)
    other = "tcp" if name is None else "mpi"
    if name is None:
        result = shell.run("-n", "4", "-t", "shm,tcp", *options)
    else:
        started = {"prefix": job(name, ranks=4)} | YIELDING | quick_start(name)
        result = shell.run("-t", "mpi,shm", *options, **started)
    assert result.status == 0, result.err
    check_every_pair(result.run, (other, "shm"))
    check_oversubscribed(result)
    assert result.out.count(f"aggregate: {other} stream 8 B, ranks") == 3


@pytest.mark.parametrize("name", [None, *extended("wheel", "mpich")])
def test_threads_talk_at_the_same_time(shell, name):
    threads = ("-p", "pingpong,stream", "--threads", "2", "--verify")
    if name is None:
        transports = ("shm", "tcp")
        result = shell.run("-t", "shm,tcp", *threads, *QUICK)
    else:
        transports = ("mpi", "shm", "tcp")
        started = YIELDING | quick_start(name)
        result = shell.run("-t", "mpi,shm,tcp", *threads, *QUICK, *chosen(name), **started)
    assert result.status == 0, result.err
    run = result.run
    assert run.failures == ()
    for transport in transports:
        found = [c for c in run.by_configuration if c.transport == transport]
        expected = list(itertools.product(("pingpong", "stream"), (0, 1)))
        assert sorted((c.pattern, c.thread) for c in found) == expected
        assert {c.concurrency for c in found} == {2}
    assert {len(aggregate.pairs) for aggregate in run.aggregates} == {2}
    assert "2 threads each" in result.out
