"""``halftrip run`` and ``show`` with real ranks: measurements are in the file and in the table."""

import json
import os
import re

import pytest

import halftrip
from halftrip.analysis.one_way import one_way_times
from halftrip.analysis.summaries import summarize_configuration
from halftrip.errors import UsageError
from harness.shell import first_states

QUICK = ("--time", "10ms", "--slices", "2")
LOCAL = ("shm", "pipe", "unix", "tcp")


def sizes(run):
    return sorted({m.configuration.size for m in run.measurements})


def test_every_path_has_a_row_for_each_size_in_every_form(measured):
    assert measured.err == ""
    expected = [(name, size) for name in LOCAL for size in (1, 8, 4096, 262144)]
    rows = first_states(json.loads(measured.show("--format", "json").out)["rows"])
    assert [(row["transport"], row["size_bytes"]) for row in rows] == expected
    assert [(row["transport"], int(row["size_bytes"])) for row in measured.rows()] == expected
    assert "run file: run.jsonl" in measured.out
    again = measured.show()
    assert again.status == 0
    assert "latency" in again.out
    assert again.out in measured.out


def test_the_file_says_where_and_how_each_row_was_measured(measured):
    run = measured.run
    assert run.interrupted is None
    # All that was kept; how much of a run it takes says how busy the machine was.
    kept = sum(measurement.samples.sum() for measurement in run.measurements) * 1e-9
    assert 0.999 * kept <= run.end.timed < run.end.seconds
    launches = run.header.plan["launches"]
    ranks = [(launch, rank) for launch in range(launches) for rank in (0, 1)]
    assert [(e.launch, e.rank) for e in run.environments] == ranks
    assert run.environments[0].core != run.environments[1].core
    # Parts in a million.
    assert all(abs(drift) < 1000 for drift in run.end.clock_drift)
    for measurement in run.measurements:
        assert measurement.first > 0
        # A later slice begins with untimed iterations, unless these do not do.
        assert measurement.warm_up.iterations > 0 or measurement.slice > 0
        assert len(measurement.core_to_core_rtts) == 1 + len(measurement.blocks)
        assert min(measurement.core_to_core_rtts) > 0
        assert min(measurement.samples) > 0


def test_on_one_host_there_and_back_are_the_round_trip(measured):
    seen = set()
    for m in measured.run.measurements:
        for block in m.blocks:
            # The responder says when messages arrived where a sample is long enough for that.
            if not block.arrivals.size:
                continue
            seen.add(m.configuration.transport)
            there, back = one_way_times(block, 0, 0)
            assert (there > 0).all()
            assert (back > 0).all()
            # Both ends of the block are known to about 50 ns.
            assert there + back == pytest.approx(block.times, rel=1e-4, abs=200)
    assert {"tcp", "unix"} <= seen
    for row in measured.rows():
        if row["there_ns"]:
            assert min(float(row["there_ns"]), float(row["back_ns"])) > 0
            assert float(row["clock_error_ns"]) <= 0.1 * float(row["latency_ns"])


def test_latencies_fit_the_machine(measured):
    """Shared memory needs no kernel, so it takes a third of any other path's time at most; more
    bytes take longer; no path is faster than the cache line by more than noise."""
    run = measured.run
    latency = {
        (configuration.transport, configuration.size): summarize_configuration(found).latency
        for configuration, found in run.by_configuration.items()
    }
    assert latency["shm", 8] * 3 < min(latency[name, 8] for name in ("pipe", "unix", "tcp"))
    assert latency["shm", 8] < latency["shm", 4096] < latency["shm", 256 << 10]
    rtt = min(m.core_to_core_rtts[0] for m in run.measurements)
    assert latency["shm", 8] > 0.4 * rtt


def test_options_win_over_a_plan_and_that_over_the_defaults_of_a_user(shell):
    """The plan leaves its ranks to the scheduler, which the table says when it is shown. With
    --quiet nothing but the file is printed."""
    (shell.directory / "plan.toml").write_text(
        'transport = ["shm", "pipe"]\nsizes = "8,64"\noutput = "run.jsonl"\ncores = "none"\n'
    )
    (shell.directory / "mine.toml").write_text('sizes = "8"\nwarmup = 5\ncores = "0,0"\n')
    options = ("-t", "pipe", "-i", "20", "-r", "2", "--quiet")
    result = shell.halftrip("run", "plan.toml", *options, HALFTRIP_CONFIG="mine.toml")
    assert (result.status, result.out, result.err) == (0, "run.jsonl\n", "")
    assert {m.configuration.transport for m in result.run.measurements} == {"pipe"}
    assert sizes(result.run) == [8, 64]
    plan = result.run.header.plan
    assert (plan["transport"], plan["iterations"], plan["warmup"]) == (["pipe"], 20, 5)
    assert all(m.warm_up.settled is None for m in result.run.measurements)
    assert [e.core for e in result.run.environments] == [None, None]
    assert all("unpinned" in row["flags"] for row in result.rows())
    assert "any core" in result.show().out


def test_a_quiet_run_says_why_nothing_was_measured(shell):
    """A variable of ranks that somebody has left in the environment means nothing."""
    work = ("-q", "-t", "mpi,shm", "-s", "512G", "--launcher", "local", "--ci", "none")
    result = shell.run(*work, HALFTRIP_CONTROL="x")
    assert (result.status, result.out) == (1, "run.jsonl\n")
    said = r"halftrip: not measured: \w+: .*; and 1 more: halftrip show\n"
    assert re.fullmatch(said, result.err), result.err


def test_cores_are_what_was_asked_for(shell):
    """Two ranks on one core still get along, are flagged, and have no core-to-core round trip. What
    cannot be measured is left out with the reason."""
    core = max(os.sched_getaffinity(0))
    work = ("-t", "mpi,shm,pipe", "--launcher", "local", "-s", "8", "--cores", f"{core},{core}")
    result = shell.measure(*work, *QUICK)
    said = "the ranks were not started by an mpiexec (--launcher mpiexec)"
    assert result.reasons() == {said}
    assert f"not measured: mpi: {said}" in result.out
    assert [e.core for e in result.run.environments] == [core, core]
    assert all("oversubscribed" in row["flags"] for row in result.rows())
    assert all(m.core_to_core_rtts == [] for m in result.run.measurements)


def test_python_measures_and_loads(shell):
    with shell.inside():
        run = halftrip.run(
            {"transport": "shm", "sizes": "8,64"}, time="20ms", slices=2, output="mine.jsonl"
        )
        assert isinstance(run, halftrip.Run)
        assert halftrip.load("mine.jsonl") == run
        with pytest.raises(UsageError, match="sizes: '4Q' is not a size"):
            halftrip.run(sizes="4Q")
    frame = run.frame()
    assert sorted(frame["size_bytes"]) == [8, 64]
    assert (frame["latency_ns"] > 0).all()
