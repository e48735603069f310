"""A run between hosts says of itself what each of them has lost and sent again."""

import re

import pytest

from lab.relay import TCP, Rule

pytestmark = pytest.mark.extended


def options(lab):
    return "--hosts", ",".join(host.name for host in lab.hosts), "--ssh", str(lab.agent)


def test_segments_that_were_sent_again_are_told(relayed, shell):
    relayed.relay.rule(Rule(loss=0.02, protocol=TCP))
    result = shell.run(
        *("-t", "tcp", "-p", "stream", "-s", "1000", "--time", "1s", "-r", "1", "--ci", "none"),
        *options(relayed),
        prefix=relayed.hosts[0].prefix(),
    )
    assert result.status == 0, result.err
    counted = {each.host: each for each in result.run.host_counters}
    assert set(counted) == {host.name for host in relayed.hosts}
    assert {each.phase for each in counted.values()} == {"launch"}
    sender = relayed.hosts[0].name
    resent = counted[sender].counts["tcp_retransmits"]
    assert resent > 0
    (line,) = (line for line in result.out.splitlines() if line.startswith(f"losses: {sender}: "))
    assert re.search(rf"tcp sent {resent:,} of [0-9,]+ segments again", line)
    # Nothing of it is within what is timed.
    (m,) = result.run.measurements
    each = counted[sender]
    assert each.at < m.at
    assert each.at + each.seconds > m.at + sum(block.elapsed for block in m.blocks) * 1e-9


def test_several_hosts_have_a_record_each_and_one_host_has_none(three, shell):
    result = shell.run(
        *("-t", "tcp", "-s", "8", "--time", "10ms", "-r", "1", "--ci", "none"),
        *("--launches", "2", "--retest", "0", *options(three)),
        prefix=three.hosts[0].prefix(),
    )
    assert result.status == 0, result.err
    found = [(each.launch, each.host) for each in result.run.host_counters]
    assert found == [(launch, host.name) for launch in (0, 1) for host in three.hosts]
    result.path.unlink()
    alone = shell.run("-t", "tcp", "-s", "8", "--time", "10ms", "-r", "1")
    assert alone.status == 0, alone.err
    assert alone.run.host_counters == ()
