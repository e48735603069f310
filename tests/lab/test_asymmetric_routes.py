"""There by one link, and back by another."""

import pytest

from lab import hosts

pytestmark = pytest.mark.extended


def test_each_end_says_which_link_it_uses(lab, shell):
    here, there = lab.hosts
    back = f"w{there.device[1:]}"
    hosts.run("ip", "link", "add", f"w{here.device[1:]}", "netns", here.name, "type", "veth",
              "peer", "name", back, "netns", there.name)  # fmt: skip
    for number, host in enumerate(lab.hosts):
        device = f"w{host.device[1:]}"
        host.ip("addr", "add", f"10.78.0.{number + 1}/24", "dev", device)
        host.ip("link", "set", device, "up", "mtu", "1400")
        # What comes does so by another way than the one that leads back.
        for name in ("all", host.device, device):
            host.sysctl(f"net.ipv4.conf.{name}.rp_filter", "0")
    there.ip("route", "add", f"{here.address}/32", "dev", back)
    before = here.sent_bytes
    names = ",".join(host.name for host in lab.hosts)
    result = shell.run(
        *("-t", "tcp,udp", "-s", "64", "-p", "stream", "--time", "100ms"),
        *("--interface", "10.77.0.0/24", "--hosts", names, "--ssh", str(lab.agent)),
        prefix=here.prefix(),
    )
    assert (result.status, result.err) == (0, "")
    run = result.run
    assert {m.configuration.transport for m in run.measurements} == {"tcp", "udp"}
    ends = {(each.transport, each.rank): each.path for each in run.connections}
    for name in ("tcp", "udp"):
        first, second = ends[name, 0], ends[name, 1]
        assert (first.local, first.peer) == (here.address, there.address)
        assert (second.local, second.peer) == (there.address, here.address)
        assert (first.interface.name, first.interface.mtu) == (here.device, 1500)
        assert (second.interface.name, second.interface.mtu) == (back, 1400)
    # It is as they say.
    payload = sum(len(m.samples) * m.iterations * 64 * 64 for m in run.measurements)
    assert here.sent_bytes - before > payload
    assert there.sent_bytes < payload / 10
    (line,) = [line for line in result.out.splitlines() if line.startswith("network: ")]
    assert f"{here.device} {here.address} to {there.name} {back} {there.address}: " in line
    assert "MTU 1,500" in line
    assert "MTU 1,400" in line
