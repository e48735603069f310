"""Several launches of fresh processes into one file."""

import json
import re

import pytest

from harness.shell import opened_shell


@pytest.fixture(scope="module")
def launched(tmp_path_factory):
    """A run of three launches on a terminal, and what was seen there."""
    with opened_shell(tmp_path_factory.mktemp("launched")) as shell:
        yield shell.on_a_terminal(
            *("-t", "shm,udp", "-s", "1..16,128K", "--launches", "3", "-r", "2", "--time", "2ms")
        )


def test_every_launch_is_of_fresh_processes_and_has_an_order_of_its_own(launched):
    result, _ = launched
    assert result.status == 0
    run = result.run
    assert run.interrupted is None
    ranks = [(e.launch, e.rank) for e in run.environments]
    assert ranks == [(launch, rank) for launch in range(3) for rank in range(2)]
    assert len({e.pid for e in run.environments}) == 6
    sizes = [2**n for n in range(5)]
    configurations = [
        *(("shm", size) for size in (*sizes, 128 << 10)),
        *(("udp", size) for size in sizes),
    ]
    done = [
        (m.launch, m.slice, m.configuration.transport, m.configuration.size)
        for m in run.measurements
    ]
    expected = [
        (k, r, *configuration)
        for k in range(3)
        for r in range(2)
        for configuration in configurations
    ]
    assert sorted(done) == sorted(expected)
    # One launch after the other, as they stand in the file.
    launches = [launch for launch, *_ in done]
    assert launches == sorted(launches)
    orders = [
        [tuple(configuration) for launch, _, *configuration in done if launch == k]
        for k in range(3)
    ]
    assert len({tuple(order) for order in orders}) == 3


def test_the_file_is_of_one_run(launched):
    result, _ = launched
    records = [json.loads(line)["record"] for line in result.path.read_text().splitlines()]
    assert records.count("run") == records.count("end") == records.count("skip") == 1
    assert records[-1] == "end"
    assert result.out.count("not measured: udp 128K") == 1
    run = result.run
    assert run.end.seconds > run.end.timed > 0
    # However often they were measured: three sizes in each launch.
    assert len(run.copy_times) == 9
    details = result.show("--details").out
    assert details.count("bound: memcpy") == details.count(", 1M ") == 1


def test_a_terminal_shows_which_launch_it_is_and_how_far(launched):
    """There is a line that moves; it is gone in the end."""
    _, seen = launched
    for number in (1, 2, 3):
        line = rf"launch {number} of 3 · (shm|udp) pingpong \S+ · slice \d+ of \d+"
        assert re.search(line.encode(), seen)
    # Two slices of six sizes of both, one of which udp refuses.
    assert b"slice 1 of 24" in seen
    assert seen.rstrip().endswith(b"\x1b[2K")
