"""halftrip over UCX beside ucx_perftest, by its mean: tagged messages in turn and in a stream, and
puts in turn."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from comparison import Comparison, Contender, Figure, Times, latency, throughput
from contenders import IN_ONE_GO, LOOPBACK, halftrip, mean_ns, require, run, server

SIZES = (8, 1024, 65536, 1 << 20)
WAYS = ("posix,cma", "tcp")
# Of ucx_perftest: messages, a tenth of which warm up, fewer of those that take longer.
MESSAGES = 200_000
BYTES = 1 << 31
WINDOW = 64
# Iterations, a percentile, and the averages of the last second and of all, us.
ROW = re.compile(r"^(?:Final:)? +\d+ +[\d.]+ +[\d.]+ +([\d.]+)", re.MULTILINE)


def perftest(test: str, tls: str, size: int, *options: str) -> Contender:
    """The mean time of a message in a test of ucx_perftest."""
    env = ("env", f"UCX_TLS={tls}")

    def measure() -> Times:
        count = max(100, min(MESSAGES, BYTES // size // 8))
        words = ("-t", test, "-s", str(size), "-n", str(count), "-w", str(count // 10), "-f")
        tool = ("ucx_perftest", "-p", "13340", *words, *options)
        with server(LOOPBACK, *env, *tool):
            output = run(*LOOPBACK.client, *env, tool[0], LOOPBACK.address, *tool[1:])
        found = ROW.search(output)
        if found is None:
            sys.exit(f"ucx_perftest: {output}")
        return {size: Figure(float(found[1]))}

    return measure


def comparisons(_: ExitStack) -> Iterator[Comparison]:
    """Within a host, over shared memory and over TCP, with the UCX that ucx_perftest has. Each size
    has a run of its own, as ucx_perftest has one: over TCP, a connection that has had larger puts
    takes a fifth longer for those of 1 KiB."""
    require("ucx_perftest")
    kinds = (
        ("tag_lat", ("-p", "pingpong"), (), latency(1.0)),
        (
            "tag_bw",
            ("-p", "stream", "-c", "nonblocking", "--window", str(WINDOW), "--places", "same"),
            ("-O", str(WINDOW)),
            lambda size: throughput()(size)._replace(target=1.0),
        ),
        ("ucp_put_lat", ("-p", "put-pingpong"), (), latency(1.0)),
    )
    for tls in WAYS:
        for test, pattern, options, goal in kinds:
            where = ("-t", "ucx", "--ucx-tls", tls.replace(",", "+"))
            name = f"ucx, {tls}, ucx_perftest {test}"
            for size in SIZES:
                what = (*where, *pattern, "-s", str(size), *IN_ONE_GO)
                ours = halftrip(*what, statistic=mean_ns)
                yield Comparison(name, ours, perftest(test, tls, size, *options), goal)
