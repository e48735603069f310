"""Sixteen hosts on a switch, of which each is measured with each other."""

import pytest

from lab import hosts

pytestmark = pytest.mark.extended

COUNT = 16


@pytest.fixture
def sixteen(tmp_path):
    hosts.need_hosts()
    with hosts.cabled(tmp_path, count=COUNT) as made:
        yield made


def test_every_pair_of_sixteen_hosts_is_measured(sixteen, shell):
    names = [host.name for host in sixteen.hosts]
    result = shell.run(
        *("-t", "tcp", "-s", "8,64K", "--pairs", "across", "--time", "50ms", "-r", "3"),
        *("--hosts", ",".join(names), "--ssh", str(sixteen.agent)),
        prefix=sixteen.hosts[0].prefix(),
    )
    assert (result.status, result.err) == (0, "")
    run = result.run
    # What seems slow is measured again, in a launch of its own.
    assert [e.host for e in run.environments if e.launch == 0] == names
    pairs = {(i, j) for j in range(COUNT) for i in range(j)}
    measured = {(c.size, c.pair) for c in run.by_configuration}
    assert measured == {(size, pair) for size in (8, 65536) for pair in pairs}
    assert run.interrupted is None
