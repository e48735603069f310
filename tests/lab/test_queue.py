"""A queue on the way to a host, filled by traffic beside the messages that wait in it."""

import pytest

from halftrip.analysis.under_load import under_load
from halftrip.report.document import document
from harness.choice import FULL, TRIALS
from lab.hosts import FIRST

pytestmark = pytest.mark.extended

RATE = 100_000_000
MESSAGE = 64 << 10
# What tbf counts for a full frame, and the payload in it; see test_limited_rate.
FRAME, PAYLOAD = 1514, 1448


def queue_of(lab, shell, size, background, *more):
    """What messages do beside this traffic, where a queue of `size` bytes leads to the second
    of three hosts."""
    lab.queue(lab.hosts[1], RATE, size)
    (found,) = measured(lab, shell, background, *more)
    return found


def measured(lab, shell, background, *more):
    """What messages from the first of the hosts to the second do beside this traffic."""
    hosts = ",".join(host.name for host in lab.hosts[:2])
    options = (
        "-t",
        "tcp",
        "-s",
        "64",
        *(more or ("--ci", "none", "--time", "1s", "--slices", "4")),
    )
    where = ("--launches", "1", "--hosts", hosts, "--ssh", str(lab.agent), "--retest", "0")
    beside = ("--background", f"none,{background}")
    prefix = (*FIRST, *lab.hosts[0].prefix())
    result = shell.measure(*options, *where, *beside, prefix=prefix)
    made = document(result.run)
    # A test may measure again.
    result.path.unlink()
    return under_load(made.rows, made.run.names)


@pytest.mark.parametrize("flows", [4, 8, 14] if FULL else [4, 14])
def test_the_length_of_a_queue_is_told(three, shell, flows):
    """Within 10 %. Each flow has one message on its way, and its next is at the tail of the queue
    as soon as the reply has come: all take turns, so that what is timed waits for one of each flow.
    Nothing is dropped."""
    found = queue_of(three, shell, 4 << 20, f"pingpong*{flows}:tcp:64K")
    waiting = flows * MESSAGE
    assert found.standing.bytes.value == pytest.approx(waiting, rel=0.1)
    assert found.standing.ns.value == pytest.approx(waiting * FRAME / PAYLOAD * 8e9 / RATE, rel=0.1)


def test_what_a_mark_lets_pass_waits_in_no_queue(three, shell):
    """Packets marked EF go before all others: --dscp 0,EF tells what the mark is worth."""
    three.queue_behind(three.hosts[1], 46, RATE, 1_000_000)
    few = ("--slices", "2", "-i", "20", "--warmup", "2")
    usual, marked = measured(three, shell, "stream*8:tcp:16K", *few, "--dscp", "0,EF")
    assert usual.standing.ns.value == pytest.approx(70e6, rel=0.25)
    assert marked.standing is None


@pytest.mark.parametrize("trial", range(TRIALS))
def test_a_short_queue_that_drops_is_told_from_a_long_one(three, shell, trial):
    """64 KB and 1 MB: one message of ten waits for all of it. TCP lets up by up to a half where it
    drops; of many flows few let up at once, so that the median message waits for nearly as much."""
    # Of a message that waits for 80 ms, few can be timed; but of 20, two that were dropped, and
    # came 300 ms later, are more than one in ten.
    few = ("--slices", "2", "-i", "50", "--warmup", "2")
    sizes = (65_536, 1_000_000)
    # What 48 flows have under way at once takes long to pass: they have small messages.
    short, long = (
        queue_of(three, shell, size, flows, *few)
        for size, flows in zip(sizes, ("stream*8:tcp:16K", "stream*48:tcp:16K"), strict=True)
    )
    for size, found in zip(sizes, (short, long), strict=True):
        assert found.full_by == "p90", (found.row.summary, found.idle.summary, found.row.traffic)
        assert found.full.ns.value == pytest.approx(size * 8e9 / RATE, rel=0.1)
    assert long.standing.ns.value == pytest.approx(80e6, rel=0.1)
    assert 2.6e6 < short.standing.ns.value < 5.3e6


def test_traffic_that_leaves_a_link_idle_shows_no_queue(three, shell):
    assert queue_of(three, shell, 1_000_000, "stream:tcp:1K:1MB").standing is None
