"""Which sizes are measured, and what is refused before anything is allocated."""

from halftrip.analysis.breakpoints import breakpoints
from halftrip.measure.adaptive_sizes import next_sizes, point
from harness.runs import case

QUICK = ("-t", "shm", "--time", "10ms")


def sizes(run):
    return sorted({m.case.size for m in run.measurements})


def test_sizes_are_perturbed(shell):
    result = shell.run(*QUICK, "-s", "1,64", "--perturb", "3")
    assert result.status == 0, result.err
    assert sizes(result.run) == [1, 4, 61, 64, 67]


def test_sizes_are_refined_where_the_curve_bends(shell):
    """Whatever this machine's curve is: in the end nothing is left to ask for."""
    result = shell.run(*QUICK, "-s", "1K..64K*4", "--refine", timeout=250)
    assert result.status == 0, result.err
    run = result.run
    schedule = [1024, 4096, 16384, 65536]
    middles = {2560, 10240, 40960}
    assert {*schedule, *middles} <= set(sizes(run))
    assert len(run.measurements) == len(sizes(run))
    points = []
    for row in run.by_case.values():
        (measurement,) = row
        points.append(point(measurement))
    assert set(next_sizes(points, schedule)) <= set(sizes(run))
    for found in breakpoints(points):
        assert found.low < found.high


def test_round_trips_are_printed_where_they_are_asked_for(shell):
    result = shell.run(*QUICK, "-s", "8", "--rtt")
    assert "round trip" in result.out
    half = shell.halftrip("show", "run.jsonl", "--style", "json")
    assert '"latency_ns"' in half.out
    again = shell.halftrip("show", "run.jsonl")
    # The plan has it, so the table of the file has it too.
    assert "round trip" in again.out


def test_what_no_memory_can_hold_is_refused_before_it_is_allocated(shell):
    result = shell.run(*QUICK, "-s", "8,100G")
    assert result.status == 0, result.err
    assert sizes(result.run) == [8]
    (skip,) = result.run.skips
    assert skip.sizes == [100 << 30]
    assert skip.reason.startswith("buffers need 409600 MiB on one host, where ")


def test_windows_count_where_each_message_has_its_own_buffer(shell):
    arguments = ("-p", "stream", "-s", "1G", "--window", "64")
    assert shell.run(*QUICK, *arguments, "--verify").status == 1
    result = shell.halftrip("show", "run.jsonl")
    # Out and in, at two ends, for a window that goes first and one that is timed.
    assert f"buffers need {2 * 2 * 2 * 64 * 1024} MiB" in result.out


def test_a_window_of_datagrams_may_be_larger_than_any_buffer(shell):
    result = shell.run(*("-t", "udp", "-p", "stream", "-s", "60K", "--window", "40000"), *QUICK[2:])
    assert result.err == ""
    assert result.status == 0


def test_a_window_that_no_memory_can_hold_is_a_mistake(shell):
    result = shell.run(*QUICK, "-p", "stream", "-s", "8", "--window", "1000000000")
    assert result.status == 2
    assert "--window: 1000000000 is too many in flight" in result.err


def test_what_a_transport_cannot_do_is_skipped_with_the_reason(shell):
    result = shell.run(
        *("-t", "shm,tcp,udp", "-p", "pingpong,put", "-m", "blocking,persistent,onesided"),
        *("-s", "8", "--time", "10ms"),
    )
    assert result.status == 0, result.err
    kinds = {(m.case.transport, m.case.pattern, m.case.mode) for m in result.run.measurements}
    assert kinds == {
        ("shm", "pingpong", "blocking"),
        ("shm", "put", "onesided"),
        ("tcp", "pingpong", "blocking"),
        ("udp", "pingpong", "blocking"),
    }
    assert "not measured: tcp" in result.out
    assert {skip.transport for skip in result.run.skips} == {"shm", "tcp", "udp"}
    assert case("shm", 8, "spin") in {m.case for m in result.run.measurements}
