"""NetPIPE's figures of curves whose latency and bandwidth are known."""

import pytest

from halftrip.analysis.netpipe_figures import netpipe_figures
from harness import runs

SIZES = [1 << power for power in range(23)]


def curve(time, sizes=SIZES, spread=0.01, slices=8, **fields):
    """Slices of ping-pongs that take `time(size)` ns one way, within `spread` of it."""
    found = []
    for size in sizes:
        for number in range(slices):
            shift = 1 + spread * ((number * 5) % slices - (slices - 1) / 2) / slices
            samples = [round(2 * 1000 * time(size) * shift)] * 20
            found.append(
                runs.measurement(
                    "shm", size, slice=number, iterations=1000, samples=samples, rtts=None, **fields
                )
            )
    return found


def straight(size):
    """1 us and 10 GB/s: half of it at 10,000 bytes, 95 % at 190,000."""
    return 1000 + 0.1 * size


def figures(measurements):
    (found,) = netpipe_figures(runs.run(*measurements))
    return found


def test_a_straight_curve():
    found = figures(curve(straight))
    assert found.smallest == 1
    assert found.latency.value == pytest.approx(1000, rel=0.01)
    assert found.latency.low < 1000.1 < found.latency.high
    assert found.reasons == {}
    assert found.largest_at == 1 << 22
    # Relative to the largest size, which is not quite at 10 GB/s yet.
    assert found.n_half.value == pytest.approx(10_000, rel=0.02)
    assert (found.n_half.low, found.n_half.high) == (8192, 16384)
    assert found.saturation.value == pytest.approx(190_000, rel=0.1)
    assert found.saturation.low == 131_072
    assert found.saturation.high == 262_144


def test_a_bandwidth_that_falls_again_is_saturated_where_it_was_largest():
    found = figures(curve(lambda size: straight(size) + (0.1 * size if size > 1 << 20 else 0)))
    assert found.largest_at == 1 << 20
    assert found.saturation.high <= 1 << 20


def test_a_curve_that_still_grows_is_not_saturated():
    found = figures(curve(straight, [1, 8, 64, 512]))
    assert found.saturation is None
    assert found.reasons["saturation"] == (
        "bandwidth may still grow at 512, the largest size; measure larger ones: -s 1..8K"
    )


def test_a_curve_that_begins_with_half_of_its_bandwidth():
    found = figures(curve(straight, [1 << 16, 1 << 18, 1 << 20, 1 << 22]))
    assert found.n_half is None
    assert found.reasons["n_half"].startswith("64K, the smallest size, may have half of the")
    assert found.saturation is not None


@pytest.mark.parametrize(
    ("time", "sizes"), [(straight, (256, 512, 768)), (lambda size: 100 * size, (1, 2, 3))]
)
def test_where_smaller_sizes_would_not_tell_more_none_are_asked_for(time, sizes):
    """The smallest has a third of the largest bandwidth, but for noise; and none is below 1."""
    found = figures(curve(time, sizes, spread=1.5))
    assert found.n_half is None
    assert found.reasons["n_half"] == "intervals are too wide; measure for longer, with --time"


@pytest.mark.parametrize(
    ("measurements", "names", "said"),
    [
        (curve(straight, [1, 8]), {"bandwidth", "saturation", "n_half"}, "fewer than three sizes"),
        (
            curve(straight, slices=1),
            {"latency", "bandwidth", "saturation", "n_half"},
            "measure several slices or launches",
        ),
    ],
)
def test_what_cannot_be_told_says_why(measurements, names, said):
    found = figures(measurements)
    assert found.reasons.keys() == names
    assert all(said in reason for reason in found.reasons.values())
    assert found.bandwidth is found.saturation is found.n_half is None


def test_streams_and_delayed_rows_are_no_such_curves():
    measured = [
        *curve(straight, [8]),
        *curve(straight, [8], delay=5000),
        *curve(straight, [8], pattern="stream", window=4),
    ]
    (found,) = netpipe_figures(runs.run(*measured))
    assert found.curve.delay == 0
