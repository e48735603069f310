"""Runs whose sockets are set up as asked for."""

from pathlib import Path

from halftrip.results.configuration import UNTUNED, Tuning

QUICK = ("--time", "1ms", "--slices", "2")
ALGORITHMS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def test_what_the_kernel_does_not_give_is_said(shell):
    most = int(Path("/proc/sys/net/core/rmem_max").read_text())
    settings = ("--socket-buffer", "system,1G", "--congestion", "system,nosuch")
    result = shell.measure(*QUICK, "-t", "tcp,unix", "-s", "8", *settings, "--no-message-rate")
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
