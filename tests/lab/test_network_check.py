"""The recipe network-check: each host with each other, alone and all at once."""

from itertools import combinations

import pytest

from lab import hosts

pytestmark = pytest.mark.extended


def checked(lab, shell):
    names = ",".join(host.name for host in lab.hosts)
    options = ("--hosts", names, "--ssh", str(lab.agent))
    result = shell.run("network-check", *options, prefix=lab.hosts[0].prefix())
    assert (result.status, result.err) == (0, "")
    assert result.run.interrupted is None
    return result


def test_a_slow_host_is_named_and_what_pairs_lose_that_talk_at_once(tmp_path, shell):
    hosts.need_hosts()
    with hosts.cabled(tmp_path, count=4) as lab:
        for number, host in enumerate(lab.hosts):
            host.limit(140_000_000 if number == 2 else 200_000_000, burst=16384)
        result = checked(lab, shell)
    found = {(c.pattern, c.pair, c.concurrency) for c in result.run.by_configuration}
    pairs = list(combinations(range(4), 2))
    assert found == {
        *(("pingpong", pair, 1) for pair in pairs),
        *(("bidirectional", pair, number) for pair in pairs for number in (1, 2)),
    }
    after = result.out[result.out.index("tcp bidirectional 128 KiB one pair at a time") :]
    (said, *_) = (line for line in after.splitlines() if line.startswith(("slow ", "no host")))
    assert said.startswith(f"slow host: {lab.hosts[2].name}: 1.")
    # The switch carries all at the same time.
    assert "2 pairs at once: tcp bidirectional 128K: " in result.out
