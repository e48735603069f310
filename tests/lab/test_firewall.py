"""What lies between hosts keeps some of it back: ports, packets above a size, a name server."""

import re

import pytest

from lab.faults import close_ports, narrow, processes

PORTS = (47130, 47150)
OPTIONS = ("--time", "50ms", "--data-ports", "-".join(map(str, PORTS)))
# What 1200 bytes with all headers fit into, and 2 KiB do not.
NARROW_MTU = 1300


@pytest.mark.extended
def test_two_of_three_hosts_that_do_not_reach_each_other(three, shell):
    a, b, c = three.hosts
    for host, other in ((b, c), (c, b)):
        close_ports(host, PORTS, other.address)
    work = ("-t", "tcp", "-s", "8", "--retest", "0", *OPTIONS)
    run = shell.measure(*work, *three.by_ssh, prefix=a.prefix(), silent=True).run
    assert run.interrupted is None
    assert {m.configuration.pair for m in run.measurements} == {(0, 1), (0, 2)}
    (skip,) = run.skips
    assert skip.pairs == [(1, 2)]
    assert f"rank 2 has not reached rank 1 at {b.address} port 471" in skip.reason
    assert "--data-ports" in skip.reason


def test_datagrams_alone_are_dropped(lab, shell):
    here, _ = lab.hosts
    close_ports(here, PORTS, protocols=("udp",))
    result = shell.run(
        *("-t", "tcp,udp", "-s", "8", "--timeout", "200ms", *OPTIONS, *lab.by_ssh),
        prefix=here.prefix(),
    )
    assert result.status == 1
    run = result.run
    assert {m.configuration.transport for m in run.measurements} == {"tcp"}
    (failure,) = run.failures
    assert failure.configuration.transport == "udp"
    assert "no answer to 5 datagrams" in failure.reason
    assert "--data-ports" in failure.reason


def sizes(records):
    return {each.configuration.size for each in records}


@pytest.mark.extended
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_messages_that_do_not_pass_fail_once_and_the_smaller_ones_are_measured(
    lab, shell, transport
):
    """A hop drops large packets in silence."""
    here, there = lab.hosts
    narrow(lab, there, NARROW_MTU)
    before = processes(there)
    result = shell.run(
        *("-t", transport, "-s", "8,1200,2K,8K", "--timeout", "200ms", "--time", "50ms"),
        *lab.by_ssh,
        prefix=here.prefix(),
    )
    assert result.status == 1
    assert result.err == ""
    run = result.run
    assert run.interrupted is None
    assert sizes(run.measurements) == {8, 1200}
    skipped = {size for each in run.skips for size in each.sizes}
    assert sizes(run.failures) | skipped == {2048, 8192}
    # One waits for an answer; that larger ones get none either is known then.
    assert transport == "udp" or len(run.failures) == 1
    for failure in run.failures:
        assert f"({there.address} port " in failure.reason
        if transport == "tcp":
            said = (
                f"rank 0 of {here.name}: not acknowledged, in segments of up to 1448 B sent again"
            )
            assert said in failure.reason
            assert "path MTU" in failure.reason
            assert {each.reason for each in run.skips} <= {failure.reason}
        else:
            assert "no answer to 5 datagrams" in failure.reason
    assert processes(there) == before


@pytest.mark.extended
def test_a_name_server_that_does_not_answer(lab, shell):
    """The second host is the first one's, and drops what it is asked."""
    here, there = lab.hosts
    close_ports(there, (53, 53))
    here.settings("resolv.conf").write_text(f"nameserver {there.address}\n")
    result = shell.run("-t", "tcp", "-s", "8", "--peer", "n1.example", prefix=here.prefix())
    assert result.status == 1
    said = "(no name server has answered in 10 s|Temporary failure in name resolution)"
    assert re.fullmatch(rf"halftrip: n1.example: {said}\n", result.err)
