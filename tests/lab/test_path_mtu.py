"""A hop that drops large packets in silence, while small ones pass."""

import pytest

from harness.limits import END_SECONDS
from lab.faults import narrow, processes

pytestmark = pytest.mark.extended

# What 1200 bytes with all headers fit into, and 2 KiB do not.
MTU = 1300


def names(lab):
    return ",".join(host.name for host in lab.hosts)


def options(lab):
    return ("--hosts", names(lab), "--ssh", str(lab.agent), "--time", "50ms")


def sizes(measured):
    return {m.configuration.size for m in measured.measurements}


@pytest.fixture
def narrowed(lab):
    narrow(lab, lab.hosts[1], MTU)
    return lab


@pytest.mark.parametrize("wait", ["block", "spin"])
def test_tcp_messages_that_do_not_pass_fail_once_and_the_smaller_ones_are_measured(
    narrowed, shell, wait
):
    here, there = narrowed.hosts
    before = processes(there)
    work = ("-t", "tcp", "-s", "8,1200,2K,8K,64K", "--wait", wait)
    result = shell.run(*work, *options(narrowed), prefix=here.prefix())
    assert result.status == 1
    assert result.err == ""
    run = result.run
    assert run.interrupted is None
    assert sizes(run) == {8, 1200}
    # One waits for an answer; that larger ones get none either is known then.
    (failure,) = run.failures
    assert failure.configuration.size in (2048, 8192, 65536)
    said = f"rank 0 of {here.name}: not acknowledged, in segments of up to 1448 B sent again "
    assert said in failure.reason
    assert f"({there.address} port " in failure.reason
    assert "path MTU" in failure.reason
    assert {each.reason for each in run.skips} == {failure.reason}
    skipped = {size for each in run.skips for size in each.sizes}
    assert skipped | {failure.configuration.size} == {2048, 8192, 65536}
    assert "path MTU" in result.out
    assert processes(there) == before


def test_datagrams_that_do_not_pass(narrowed, shell):
    result = shell.run(
        *("-t", "udp", "-s", "8,1200,2K,8K", "--timeout", "200ms", *options(narrowed)),
        prefix=narrowed.hosts[0].prefix(),
    )
    assert result.status == 1
    run = result.run
    assert run.interrupted is None
    assert sizes(run) == {8, 1200}
    assert {f.configuration.size for f in run.failures} | {
        size for each in run.skips for size in each.sizes
    } == {2048, 8192}
    for failure in run.failures:
        assert "no answer to 5 datagrams" in failure.reason
        assert f"({narrowed.hosts[1].address} port " in failure.reason


def test_a_kernel_that_probes_the_path_gets_through(narrowed, shell):
    """What the guard waits for."""
    for host in narrowed.hosts:
        host.sysctl("net.ipv4.tcp_mtu_probing", "1")
    result = shell.run(
        *("-t", "tcp", "-s", "8,2K", *options(narrowed)), prefix=narrowed.hosts[0].prefix()
    )
    assert (result.status, result.err) == (0, "")
    assert sizes(result.run) == {8, 2048}


def test_other_pairs_go_on(three, shell):
    narrow(three, three.hosts[2], MTU)
    result = shell.run(
        *("-t", "tcp", "-s", "64,4K", *options(three)),
        prefix=three.hosts[0].prefix(),
        timeout=240.0 + END_SECONDS,
    )
    assert result.status == 1
    run = result.run
    assert run.interrupted is None
    measured = {(m.configuration.pair, m.configuration.size) for m in run.measurements}
    assert measured == {((0, 1), 64), ((0, 1), 4096), ((0, 2), 64), ((1, 2), 64)}
    assert sorted(f.configuration.pair for f in run.failures) == [(0, 2), (1, 2)]
