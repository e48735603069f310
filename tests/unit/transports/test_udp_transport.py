"""The udp transport, measured with both ranks in one process."""

import pytest

from halftrip.transports.native.udp import UdpTransport
from harness import runs
from harness.bench import measure, process
from harness.choice import extended
from harness.paths import OneEnd, opened


def configuration(pattern="pingpong", size=64, window=1, **changes):
    return runs.configuration("udp", size, pattern=pattern, window=window, **changes)


@pytest.mark.parametrize(("pattern", "window"), [("pingpong", 1), ("stream", 8)])
def test_a_dead_path_is_a_problem_of_the_configuration(pattern, window):
    """From now on the responder's socket receives only from another address."""

    def spoil(rank, path):
        if rank == 1:
            path._socket.connect(("127.0.0.1", 9))

    problem = measure(configuration(pattern, window=window), spoil=spoil, timeout=0.02).problem
    assert problem.startswith(("rank 0: no ", "rank 0: Connection refused"))


@pytest.mark.parametrize(
    ("the_configuration", "reason"),
    [
        (configuration(size=1), None),
        (configuration(size=0), "an empty datagram has no room for its number"),
        (configuration(size=65507), None),
        (configuration(size=65508), "a datagram holds at most 65507 bytes"),
        (configuration(rate=1e6), "--rate: only a stream of udp has one"),
        (configuration("stream", rate=1e6, window=64), None),
        (configuration("put", mode="onesided"), "a datagram has no memory to reach into"),
    ],
)
def test_what_it_cannot_do_is_refused(the_configuration, reason):
    assert UdpTransport(process()).refuses(the_configuration) == reason


@pytest.mark.parametrize(
    ("rate", "headers"),
    # With a rate, a number and when the message was sent; else a number.
    [(1e6, [1, 8, 8, 16, 16]), (None, [1, 8, 8, 8, 8])],
)
def test_the_header_is_what_the_path_writes_itself(rate, headers):
    with opened("udp") as ends:
        found = [
            OneEnd(ends[0], configuration("stream", size, rate=rate), True).endpoint.header_size
            for size in (1, 8, 12, 16, 100)
        ]
    assert found == headers


@pytest.mark.parametrize("rate", [None, *extended(1e6)])
def test_a_stream_keeps_to_its_rate_and_has_jitter_only_there(rate):
    """How near it comes is for the pacer's tests to say; time that was lost is made up for at twice
    the rate at most."""
    measured = measure(configuration("stream", 64, 8, rate=rate)).only
    assert (measured.blocks[-1].delivery.jitter is None) == (rate is None)
    sent, seconds = 8 * 64 * measured.samples.size, measured.samples.sum() * 1e-9
    assert rate is None or sent / seconds <= 2.1 * rate


def test_the_socket_has_room_for_a_window(monkeypatch):
    """Or for as much as the kernel allows; never less than the default."""
    asked = []
    with opened("udp") as ends:
        default = ends[0]._default_buffer

        class NotedSocket:
            def setsockopt(self, level, option, value):
                asked.append(value)

        monkeypatch.setattr(ends[0], "_socket", NotedSocket())
        for size, window in ((1, 1), (1000, 1000), (60_000, 1_000_000)):
            OneEnd(ends[0], configuration("stream", size, window), initiates=True).endpoint.resume()
        monkeypatch.undo()
    assert asked == [default // 2, 1000 * 2024, 2**31 - 1]
