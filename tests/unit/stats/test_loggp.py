"""The parameters of LogGP from times that the model itself makes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.stats import loggp
from halftrip.stats.estimate import Estimate
from halftrip.stats.loggp import StreamTimes

WINDOW = 16
SIZES = (1, 64, 1024, 16384)


def known(value, share=0.0):
    return Estimate(value, value * (1 - share), value * (1 + share))


class Path:
    """A path with these parameters, ns and ns per byte."""

    def __init__(self, latency, send, receive, gap, per_byte):
        self.latency, self.send, self.receive = latency, send, receive
        self.gap, self.per_byte = gap, per_byte

    def one_way(self, size):
        return self.send + self.latency + (size - 1) * self.per_byte + self.receive

    def pingpong(self, delay):
        return known(self.send + delay + self.receive)

    def stream(self, size, delay=0.0):
        ends = self.one_way(size) + self.one_way(1)
        apart = max(self.gap + (size - 1) * self.per_byte, self.send + delay)
        return StreamTimes(size, known(ends), known(ends + (WINDOW - 1) * apart), WINDOW - 1)


overhead = st.floats(10.0, 1e4)
paths = st.builds(
    lambda latency, send, receive, gap, each: Path(latency, send, receive, send + gap, each),
    st.floats(10.0, 1e5), overhead, overhead, st.floats(0.0, 1e4), st.floats(0.01, 10.0),
)  # fmt: skip


@given(paths, st.sampled_from(SIZES))
def test_what_the_path_has_comes_out(path, size):
    delay = 4 * path.one_way(size) + path.gap + size * path.per_byte
    both = loggp.both_overheads(path.pingpong(delay), delay)
    assert both.value == pytest.approx(path.send + path.receive, rel=1e-6)
    stream = path.stream(size, delay)
    send = loggp.send_overhead(stream, delay)
    assert send.value == pytest.approx(path.send, rel=1e-6, abs=1e-4)
    receive = loggp.receive_overhead(path.pingpong(delay), delay, stream, delay)
    assert receive.value == pytest.approx(path.receive, rel=1e-6, abs=1e-4)
    gaps = loggp.gaps([path.stream(each) for each in SIZES])
    assert gaps.gap.value == pytest.approx(path.gap, rel=1e-5, abs=1e-3)
    assert gaps.per_byte.value == pytest.approx(path.per_byte, rel=1e-5)
    assert gaps.misfit == pytest.approx(1.0, abs=1e-4)
    half = known(path.one_way(size))
    latency = loggp.latency(half, both, size, gaps.per_byte)
    assert latency.value == pytest.approx(path.latency, rel=1e-4, abs=1e-2)


def test_the_interval_of_a_sum_is_that_of_its_times():
    stream = StreamTimes(8, Estimate(1000, 970, 1040), Estimate(16_000, 15_910, 16_120), 15)
    found = stream.between(500)
    assert found.value == pytest.approx(1000 - 500)
    assert found.low == pytest.approx(found.value - math.hypot(90, 40) / 15)
    assert found.high == pytest.approx(found.value + math.hypot(120, 30) / 15)


@pytest.mark.parametrize(("size", "found"), [(0, 40), (1, 40), (11, 20)])
def test_the_first_byte_takes_no_per_byte(size, found):
    per_byte = None if size == 1 else known(2.0)
    assert loggp.latency(known(100.0), known(60.0), size, per_byte).value == found


@pytest.mark.parametrize("count", [0, 1, 2])
def test_two_sizes_are_no_line(count):
    path = Path(1000.0, 100.0, 100.0, 200.0, 1.0)
    with pytest.raises(ValueError, match="three sizes"):
        loggp.gaps([path.stream(size) for size in SIZES[:count]])


def test_where_it_is_no_line_it_says_at_which_size():
    path = Path(1000.0, 100.0, 100.0, 200.0, 1.0)
    streams = [path.stream(size) for size in SIZES]
    one, several = streams[1].fewer, streams[1].more
    streams[1] = streams[1]._replace(more=known(one.value + 2 * (several.value - one.value)))
    found = loggp.gaps(streams)
    assert found.misfit > 1.2
    assert found.misfit_at == 64
    assert found.gap.high - found.gap.low > 0.2 * found.gap.value
