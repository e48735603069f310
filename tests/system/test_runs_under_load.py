"""Runs beside other traffic."""

import pytest

QUICK = ("-s", "64", "--time", "4ms", "--slices", "4", "--ci", "none", "--launches", "1")


def traffic_of(run):
    """What the traffic beside each measurement has moved, by transport and background."""
    found = {}
    for m in run.measurements:
        key = (m.configuration.transport, m.configuration.background)
        found.setdefault(key, []).append(m.background)
    return found


def test_messages_are_timed_beside_traffic(shell):
    """By threads of both ends, which are seen to move bytes in every slice."""
    beside = "none,stream:unix,bidirectional*2:8K:100MB"
    slices = ("--time", "16ms", "--slices", "16")
    result = shell.measure("-t", "unix,shm", *QUICK, *slices, "--background", beside)
    found = traffic_of(result.run).items()
    traffic = {key: each for key, each in found if key[0] == "unix"}
    assert set(traffic.pop(("unix", "none"))) == {None}
    assert {text for _, text in traffic} == {"stream:unix:64K", "bidirectional*2:unix:8K:100MB"}
    assert all(each.bytes > 0 and each.running >= 0.8 for of in traffic.values() for each in of)
    rows = {row["background"]: float(row["background_bytes_per_s"] or 0) for row in result.rows()}
    assert [rate > 0 for rate in rows.values()] == [text != "none" for text in rows]
    assert "x idle" in result.out


def test_messages_are_timed_beside_puts_where_there_is_memory_to_reach_into(shell):
    # Where others want all cores, too, these puts stand still in three quarters of the slices.
    slices = ("--time", "48ms", "--slices", "48")
    result = shell.measure("-t", "unix,shm", *QUICK, *slices, "--background", "put")
    (skip,) = result.run.skips
    assert skip.reason.endswith(": a byte stream has no memory to reach into")
    ((_, traffic),) = traffic_of(result.run).items()
    assert all(each.bytes > 0 and each.running >= 0.8 for each in traffic)


@pytest.mark.extended
def test_each_path_has_traffic_of_its_own(shell):
    paths = ("mpi", "shm", "unix", "tcp")
    result = shell.measure("-t", ",".join(paths), *QUICK, "--background", "none,stream")
    assert result.run.failures == result.run.skips == ()
    expected = {(path, text) for path in paths for text in ("none", f"stream:{path}:64K")}
    assert traffic_of(result.run).keys() == expected
