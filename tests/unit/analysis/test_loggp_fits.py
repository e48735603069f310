"""The parameters of LogGP of runs over a path that has them planted, and of runs that cannot tell
them; NetPIPE's figures of curves whose latency and bandwidth are known."""

from functools import cache

import msgspec
import pytest

from halftrip.analysis.loggp import COMMAND, MISFIT, loggp_fits
from halftrip.analysis.netpipe_figures import netpipe_figures
from halftrip.export import loggopsim
from halftrip.plan.layers import file_layer
from halftrip.plan.recipes import path_of
from halftrip.report.document import document
from halftrip.results.run_file import assemble
from harness import imports, runs
from harness.plans import skip_baselines, walk

PATH = {
    "latency": "3us",
    "bandwidth": "4GB",
    "send_overhead": "400ns",
    "receive_overhead": "700ns",
    "gap": "900ns",
    "noise": {"kind": "lognormal", "spread": "2%"},
}
# Of virtual time: so long that an overhead of 400 ns beside a delay of 50 us is known to 2 %.
LONG = "40ms"
# ns, and ns per byte.
TRUTH = {"latency": 1900.0, "send": 400.0, "receive": 700.0, "gap": 900.0, "per_byte": 0.25}


def measured(seed=1, **keys):
    """A run of what the recipe measures, over the planted path."""
    recipe = dict(file_layer(path_of("loggp")).keys)
    parts = [dict(part.keys) for part in file_layer(path_of("loggp")).parts]
    keys = recipe | {"part": parts, "transport": "simulated", "time": "5ms"} | keys
    with pytest.MonkeyPatch.context() as patched:
        skip_baselines(patched)
        records, _ = walk(**{"simulated": PATH | {"seed": seed}} | keys)
    return assemble(runs.run().header, records.all)


@cache
def planted():
    return measured(time=LONG, sizes="1,1K,16K")


def values(fit):
    return {
        "latency": fit.latency.estimate,
        "send": fit.smallest.send.estimate,
        "receive": fit.smallest.receive.estimate,
        "gap": fit.gap.estimate,
        "per_byte": fit.per_byte.estimate,
    }


def test_the_planted_parameters_come_out_over_slices_and_over_launches():
    (fit,) = loggp_fits(planted())
    for name, found in values(fit).items():
        assert found.value == pytest.approx(TRUTH[name], rel=0.05), name
    assert fit.over == "slices"
    assert fit.window == 8
    assert fit.misfit <= MISFIT
    assert [each.size for each in fit.overheads] == [1, 1024, 16384]
    for each in fit.overheads:
        assert each.both.estimate.value == pytest.approx(1100, rel=0.05)
        # 2 us hide nothing of a round trip of 6 us and more.
        assert each.delay == 50_000
        assert each.predicted.estimate.value == pytest.approx(each.half.value, rel=0.01)
    run = planted()
    launches = [
        msgspec.structs.replace(each, launch=each.slice % 3, slice=each.slice // 3)
        for each in run.measurements
    ]
    (fit,) = loggp_fits(assemble(run.header, launches))
    assert fit.over == "launches"
    for name, found in values(fit).items():
        assert found.value == pytest.approx(TRUTH[name], rel=0.05), name


def test_it_is_exported_with_one_overhead_for_both_ends():
    (text,) = loggopsim.files(document(planted())).values()
    per_ns = 1e3 if "# One unit of time is 1 ps," in text else 1e6
    options = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    both = (TRUTH["send"] + TRUTH["receive"]) / 2
    for letter, truth in (("L", 1900), ("o", both), ("g", 900), ("G", 0.25)):
        assert int(options[f"-{letter}"]) / per_ns == pytest.approx(truth, rel=0.05), letter


def test_a_stream_with_delays_is_compared_with_a_shorter_one_or_with_a_single_message():
    pingpong = {"pattern": "pingpong", "delay": "0,50us"}
    for windows in ("1,8", "1,2,8"):
        stream = {"pattern": "stream", "window": windows, "delay": "0,50us"}
        (fit,) = loggp_fits(measured(sizes="1", time=LONG, part=[pingpong, stream]))
        assert fit.smallest.send.estimate.value == pytest.approx(TRUTH["send"], rel=0.05)
    lone = {"pattern": "stream", "window": "8", "delay": "50us"}
    (fit,) = loggp_fits(measured(sizes="1", part=[pingpong, lone]))
    assert fit.smallest.send.reason.startswith("no stream of 1 B with a window of 1")


@pytest.mark.parametrize(
    ("keys", "figure", "said"),
    [
        ({"part": [{}]}, "latency", f"no ping-pong with a delay; measure it: {COMMAND}"),
        ({"part": [{}]}, "gap",
         f"no stream with a window of several messages; measure it: {COMMAND}"),
        ({"part": [{"delay": "0,2us"}]}, "latency",
         ("no ping-pong of 1 B with a delay above its round trip, 6.0 us; "
          "measure it: --delay 0,10us")),
        ({"sizes": "1,64"}, "per_byte",
         f"streams with windows of 1 and of 8 of 2 sizes, not of 3; measure it: {COMMAND}"),
        ({"slices": 1, "ci": "none", "sizes": "1,64,1K"}, "gap",
         "no interval; measure several slices or launches"),
        ({"slices": 1, "ci": "none"}, "latency",
         "the round trip of 1 B has no interval; measure several slices or launches"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_says_why(keys, figure, said):
    (fit,) = loggp_fits(measured(**{"sizes": "1"} | keys))
    found = getattr(fit, figure)
    assert found.estimate is None
    assert found.reason == said


def test_overheads_without_a_stream_are_a_sum():
    part = {"pattern": "pingpong", "delay": "0,20us"}
    (fit,) = loggp_fits(measured(sizes="1", part=[part]))
    assert fit.smallest.both.estimate.value == pytest.approx(1100, rel=0.05)
    assert fit.latency.estimate.value == pytest.approx(1900, rel=0.05)
    assert fit.smallest.send.estimate is None
    assert fit.smallest.send.reason.startswith("no stream of 1 B with a delay above its round trip")
    assert fit.smallest.receive == fit.smallest.send


def test_imported_figures_have_no_delays():
    text = (imports.ROOT / "tests/golden/imports/netpipe").glob("*")
    path = next(iter(sorted(text)))
    (fit,) = loggp_fits(imports.imported_run(path.read_bytes()))
    assert fit.latency.estimate is None
    assert "no delays in what another tool has measured" in fit.latency.reason


def test_each_path_has_its_own():
    run = runs.run(
        runs.measurement("shm", pair=(0, 1)),
        runs.measurement("shm", 64, pair=(0, 1)),
        runs.measurement("shm", pair=(2, 3)),
        runs.measurement("tcp", wait="block"),
        runs.measurement("tcp", wait="block", pattern="put", mode="onesided"),
        runs.measurement("tcp", wait="block", mode="nonblocking"),
    )
    assert [(fit.path.transport, fit.path.pair) for fit in loggp_fits(run)] == [
        ("shm", (0, 1)), ("shm", (2, 3)), ("tcp", (0, 1)),
    ]  # fmt: skip


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


def test_where_bandwidth_is_saturated_and_has_its_half():
    """Where it was largest, of one that falls again; not where it still grows, nor where it begins
    with half of it."""
    found = figures(curve(lambda size: straight(size) + (0.1 * size if size > 1 << 20 else 0)))
    assert found.largest_at == 1 << 20
    assert found.saturation.high <= 1 << 20
    found = figures(curve(straight, [1, 8, 64, 512]))
    assert found.saturation is None
    assert found.reasons["saturation"] == (
        "bandwidth may still grow at 512 B, the largest size; measure larger ones: -s 1..8K"
    )
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
        (curve(straight, slices=1), {"latency", "bandwidth", "saturation", "n_half"},
         "measure several slices or launches"),
    ],
)  # fmt: skip
def test_what_no_figure_can_be_told_of_says_why(measurements, names, said):
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
