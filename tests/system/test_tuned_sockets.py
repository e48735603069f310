"""Runs whose sockets are set up as asked for."""

from pathlib import Path

import pytest

from halftrip.results.configuration import UNTUNED, Tuning

QUICK = ("--time", "1ms", "--slices", "2")
TWO_SIDED = "pingpong,stream,bidirectional,exchange"
ALGORITHMS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


@pytest.mark.extended
def test_several_connections_and_what_is_sent_in_place_are_verified(shell):
    several = ("--window", "3", "--streams", "1,3", "--wait", "block,spin", "--verify")
    in_place = ("--zerocopy", "--no-zerocopy")
    work = ("-t", "tcp,shm", "-p", TWO_SIDED, "-s", "8,300000")
    result = shell.run(*QUICK, *work, *several, *in_place)
    assert result.status == 0, result.err
    assert all(m.verified > 0 for m in result.run.measurements)
    found = {
        (m.configuration.transport, m.configuration.pattern, m.configuration.tuning)
        for m in result.run.measurements
    }
    tunings = [("tcp", Tuning(streams=3)), ("tcp", Tuning(zerocopy=True))]
    tunings += [("tcp", UNTUNED), ("shm", UNTUNED)]
    assert found == {
        (name, pattern, tuning) for name, tuning in tunings for pattern in TWO_SIDED.split(",")
    }


def test_what_the_kernel_does_not_give_is_said(shell):
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    settings = ("--socket-buffer", "system,1G", "--congestion", "system,nosuch")
    result = shell.run(*QUICK, "-t", "tcp,unix", "-s", "8", *settings, "--no-message-rate")
    assert result.status == 0, result.err
    algorithms = ", ".join(ALGORITHMS)
    (skip,) = result.run.skips
    assert skip.transport == "tcp"
    assert skip.reason == f"--congestion nosuch: not in this kernel, which has {algorithms}"
    notices = {(notice.kind, notice.rank, notice.text) for notice in result.run.notices}
    # Of each rank, once.
    assert len(notices) == len(result.run.notices) == 2 * 2 * 2
    assert {kind for kind, _, _ in notices} == {"shortfall"}
    assert most < 1 << 30
    assert "tcp: --socket-buffer 1G: net.core.rmem_max allows" in result.out
    shown = {m.configuration.tuning for m in result.run.measurements}
    assert shown == {UNTUNED, Tuning(socket_buffer=1 << 30)}
