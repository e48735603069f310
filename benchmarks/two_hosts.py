"""Two hosts out of network namespaces, with a cable between them, beside what others use there.

Both contenders go over the same cable, each with its client on the first core and its server on the
second, and wait in the same way. They have the sockets of the system's defaults, and send at once.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from comparison import Comparison, Contender, Times, latency, throughput
from contenders import (
    HERE,
    Ends,
    Statistic,
    halftrip_times,
    iperf3,
    mean_ns,
    median_ns,
    require,
    sockperf,
)

# The tests make such hosts.
sys.path.insert(0, str(HERE.parent / "tests"))
from harness.served import served
from lab.hosts import FIRST, Host, Lab, cabled

LATENCY_SIZES = (64, 1024)
# Over UDP, what fits into a frame.
WRITE_SIZES = {"tcp": 131072, "udp": 1472}
# As in families.py: the acknowledgement of a window does not matter.
WINDOW_BYTES = 32 << 20
# As long as the others take for each figure.
SECOND = ("--time", "1s", "--ci", "none")


def first(host: Host) -> tuple[str, ...]:
    """What to put before a command to run it on a host, before all else that the machine does."""
    return (*FIRST, *host.prefix())


def by_agent(lab: Lab, *arguments: str, statistic: Statistic = median_ns) -> Contender:
    """``halftrip run --hosts``: ranks are started on both hosts."""
    here, there = lab.hosts
    hosts = ("--hosts", f"{here.name},{there.name}", "--ssh", str(lab.agent))
    return lambda: halftrip_times((*hosts, *arguments), statistic, first(here))


def by_server(lab: Lab, *arguments: str, statistic: Statistic = median_ns) -> Contender:
    """``halftrip serve`` on one host and ``halftrip run --peer`` on the other."""
    here, there = lab.hosts

    def measure() -> Times:
        with (
            tempfile.TemporaryDirectory() as directory,
            served(Path(directory), address=there.address, prefix=first(there)) as server,
        ):
            environment = {"HALFTRIP_SECRET": server.secret}
            words = (*server.peer, *arguments)
            return halftrip_times(words, statistic, first(here), **environment)

    return measure


STARTED: dict[str, Callable[..., Contender]] = {"--peer": by_server, "--hosts": by_agent}


def comparisons(resources: contextlib.ExitStack) -> Iterator[Comparison]:
    """Both ways to start ranks on two hosts, beside sockperf and iperf3."""
    require("iperf3", "sockperf")
    directory = Path(resources.enter_context(tempfile.TemporaryDirectory()))
    lab = resources.enter_context(cabled(directory))
    here, there = lab.hosts
    ends = Ends(first(here), first(there), there.address)
    for option, started in STARTED.items():
        for transport in ("tcp", "udp"):
            yield pingpong(f"hosts, {option}", started, lab, ends, transport, "block")
        yield stream(f"hosts, {option}", started, lab, ends, "tcp")
    # What differs between the ways to start is no part of the timed loops.
    for transport in ("tcp", "udp"):
        yield pingpong("hosts, --hosts", by_agent, lab, ends, transport, "spin")
    yield stream("hosts, --hosts", by_agent, lab, ends, "udp")


def pingpong(
    name: str, started: Callable[..., Contender], lab: Lab, ends: Ends, transport: str, wait: str
) -> Comparison:
    """Latencies beside sockperf's; both have TCP_NODELAY, and both block or poll."""
    sizes = ("-s", ",".join(map(str, LATENCY_SIZES)))
    ours = started(lab, "-t", transport, *sizes, "--wait", wait, *SECOND)
    theirs = ("--tcp",) if transport == "tcp" else ()
    polls = ("--nonblocked",) if wait == "spin" else ()
    peer = sockperf(*theirs, *polls, sizes=LATENCY_SIZES, ends=ends)
    return Comparison(f"{name}, {transport} {wait}, sockperf", ours, peer, latency(1.0))


def stream(
    name: str, started: Callable[..., Contender], lab: Lab, ends: Ends, transport: str
) -> Comparison:
    """One way beside iperf3, blocking, from one buffer into one; over UDP as much as it can, of
    which counts what arrives."""
    size = WRITE_SIZES[transport]
    window = ("--window", str(WINDOW_BYTES // size))
    alike = ("--wait", "block", "--places", "same", *SECOND)
    words = ("-t", transport, "-p", "stream", "-s", str(size), *window, *alike)
    ours = started(lab, *words, statistic=mean_ns)
    options = {"tcp": ("-N",), "udp": ("-u", "-b", "0")}[transport]
    peer = iperf3(size, *options, ends=ends)
    what = " ".join(("iperf3", *options))
    return Comparison(f"{name}, stream, {transport} block, {what}", ours, peer, throughput())
