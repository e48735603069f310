"""SMPI's factors, a platform of SimGrid, options of LogGOPSim: what is in them, and cannot be."""

import re
import shlex
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.export import loggopsim, simgrid
from halftrip.export.fitted_curve import LARGEST, FittedCurve, eager_limit, problem, segments
from halftrip.export.loggopsim import Seen
from halftrip.export.simgrid import divisions, factors
from halftrip.report.document import document
from halftrip.report.selection import Selection, selected
from harness import runs
from harness.pieces import curves, pieces, sizes_on, smpi_time, time_on

CURVE = runs.configuration("mpi").curve
TWO_PROTOCOLS = pieces((1, 1024, 1000.0, 0.5), (2048, 1 << 20, 5000.0, 0.1))
STEEP = pieces((1, 4096, 1000.0, 0.1), (8192, 1 << 20, 0.0, 1 / 3))
SIZES = [1 << n for n in range(21)]


def measured(*sizes, transport="mpi", start=1000.0, per_byte=0.1, **fields):
    """A ping-pong of these sizes along a line."""
    return [
        runs.measurement(
            transport, size, half_ns=start + per_byte * size, seed=size, slice=number, **fields
        )
        for size in sizes
        for number in range(3)
    ]


def made_platform(curve, run=None):
    found = run or runs.run(runs.measurement("mpi"))
    return simgrid.platform(document(found), FittedCurve(CURVE, curve))


def settings_of(text):
    return {each.get("id"): each.get("value") for each in ElementTree.fromstring(text).iter("prop")}


@pytest.mark.parametrize("curve", [TWO_PROTOCOLS, STEEP])
def test_numbers_are_read_back_as_they_were(curve):
    text = made_platform(curve)
    told = factors(curve)
    cluster = next(ElementTree.fromstring(text).iter("cluster"))
    assert float(cluster.get("bw").removesuffix("Bps")) == told.bandwidth
    assert 2 * float(cluster.get("lat").removesuffix("s")) == told.latency
    found = settings_of(text)

    def steps(name):
        told = [step.split(":") for step in found[name].split(";")] if name in found else []
        return tuple((int(at), *map(float, rest)) for at, *rest in told)

    assert steps("smpi/lat-factor") == told.latency_factors
    assert steps("smpi/bw-factor") == told.bandwidth_factors
    assert steps("smpi/os") == steps("smpi/ois") == told.overheads


def test_settings_are_those_of_the_curve_and_what_is_not_measured_is_switched_off():
    found = settings_of(made_platform(TWO_PROTOCOLS))
    assert found["smpi/async-small-thresh"] == found["smpi/send-is-detached-thresh"] == "1025"
    assert found["network/crosstraffic"] == found["smpi/simulate-computation"] == "no"
    assert found["network/TCP-gamma"] == found["smpi/wtime"] == "0"
    found = settings_of(made_platform(pieces((1, 4096, 1000.0, 0.1))))
    assert not [name for name in found if name.endswith("-thresh")]


def test_the_head_says_what_it_is_and_what_was_done():
    text = made_platform(STEEP)
    assert "  from 0 to 4285: 1000.0 + 0.1 s" in text
    assert "network/latency-factor" in text
    assert "From 4286 bytes on the time grows faster" in text
    assert "sends of fewer than 2147483647 bytes do not." in " ".join(text.split())
    assert "No jump to longer times" in text
    assert "Sends of up to 1024 bytes are taken to be eager" in made_platform(TWO_PROTOCOLS)
    assert len(divisions(STEEP)) == len(re.findall(r"^  from \d+ ", text, re.MULTILINE))


def test_a_text_of_a_run_stays_a_text():
    host = 'a--><cluster id="x"/>é\x1b]0;\n&--'
    run = runs.run(
        *measured(8, 64, 512),
        environments=tuple(runs.environment(rank, host=f"{host}{rank}") for rank in range(2)),
    )
    text = made_platform(TWO_PROTOCOLS, run)
    assert text.isascii()
    assert [each.get("id") for each in ElementTree.fromstring(text).iter("cluster")] == ["ranks"]
    assert "\x1b" not in text
    found = loggopsim.files(document(run))
    (options,) = found.values()
    assert all(line.startswith(("#", "-")) for line in options.splitlines())
    assert "\x1b" not in options
    # There are as many hosts as ranks.
    six = runs.run(
        *measured(8, 64, 512, pair=(4, 2)),
        environments=tuple(runs.environment(rank) for rank in range(6)),
    )
    assert 'radical="0-5"' in made_platform(TWO_PROTOCOLS, six)
    assert 'radical="0-1"' in text


def test_a_run_is_fitted_and_written():
    (text,) = simgrid.files(document(runs.run(*measured(*SIZES)))).values()
    assert settings_of(text)["smpi/lat-factor"].startswith("0:1.0")
    cluster = next(ElementTree.fromstring(text).iter("cluster"))
    assert float(cluster.get("bw").removesuffix("Bps")) == pytest.approx(1e10, rel=0.01)
    assert 2 * float(cluster.get("lat").removesuffix("s")) == pytest.approx(998e-9, rel=0.02)


def said(to, *measurements, selection=Selection()):  # noqa: B008
    with pytest.raises(UsageError) as error:
        to.files(selected(document(runs.run(*measurements)), selection))
    (line,) = str(error.value).splitlines()
    return line


@pytest.mark.parametrize("to", [simgrid, loggopsim])
def test_of_several_curves_one_is_chosen(to):
    two = [*measured(*SIZES), *measured(*SIZES, transport="tcp")]
    assert said(to, *two).endswith("is of one curve, and there are 2; choose one: -t mpi, tcp")
    of_tcp = selected(document(runs.run(*two)), Selection(transports=["tcp"]))
    (text,) = to.files(of_tcp).values()
    assert "From tcp/pingpong" in text
    pairs = [each for one in range(1, 9) for each in measured(*SIZES[:6], pair=(0, one))]
    assert said(to, *pairs).endswith("choose one: --pair 0-1, 0-2, 0-3, 0-4 or 4 more")
    waits = [*measured(*SIZES), *measured(*SIZES, wait="block")]
    assert "measure one of them by itself: mpi/pingpong/blocking" in said(to, *waits)


@pytest.mark.parametrize("to", [simgrid, loggopsim])
def test_what_cannot_be_fitted_says_what_to_measure(to):
    assert re.search(r"^--to \w+: mpi/\S+: .*measure", said(to, *measured(8, 64)))
    rates = [each for size in SIZES for each in measured(size, pattern="stream", window=64)]
    assert said(to, *rates).endswith("measure one: halftrip run -p pingpong")
    some = said(to, *measured(*SIZES), selection=Selection(sizes=[(8, 16)]))
    assert re.search(r"^--to \w+: mpi/\S+: 2 sizes", some)
    flat = said(to, *measured(*SIZES, per_byte=0.0))
    assert "the time does not grow with the size" in flat
    assert "measure larger sizes" in flat


def options_of(curve):
    told = loggopsim.parameters(curve, Seen())
    return told, loggopsim.scaled(told)


def test_loggopsim_has_the_time_of_a_byte_and_that_of_each_further_one():
    told, scale = options_of(TWO_PROTOCOLS)
    assert (told.latency, told.overhead, told.gap) == (1000.5, 0.0, 0.0)
    assert (told.gap_per_byte, told.eager_limit) == (0.1, 1024)
    assert scale == (1000, {"L": 1000500, "o": 0, "g": 0, "G": 100}, 0.0)
    # Overhead and gap are put in where they are known.
    told = loggopsim.parameters(TWO_PROTOCOLS, Seen(overhead=100.0, gap=150.0))
    assert told.times == {"L": 800.5, "o": 100.0, "g": 150.0, "G": 0.1}


def test_the_unit_is_as_fine_as_whole_numbers_need_it():
    _, scale = options_of(pieces((1, 1024, 1e6, 5.0)))
    assert (scale.unit, scale.times["G"]) == ("ns", 5)
    _, scale = options_of(pieces((1, 1024, 1000.0, 0.08125)))
    assert (scale.unit, scale.times["G"]) == ("fs", 81250)
    # A latency of a second is too large a number of anything smaller.
    _, scale = options_of(pieces((1, 1024, 1e9, 0.3)))
    assert (scale.unit, scale.times["G"], scale.rounding) == ("ns", 0, 1.0)
    assert options_of(pieces((1, 1024, 1e10, 0.3)))[1] is None


def test_the_file_is_a_command_line_with_the_gap_of_a_stream_of_the_same_run():
    streams = measured(*SIZES, pattern="stream", window=64, mode="nonblocking", start=12800.0)
    run = runs.run(*measured(*SIZES), *streams)
    (text,) = loggopsim.files(document(run)).values()
    words = shlex.split(" ".join(line for line in text.splitlines() if not line.startswith("#")))
    options = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    assert list(options) == ["-L", "-o", "-g", "-G", "-O"]
    assert options["-L"] / options["-G"] == pytest.approx(1000 / 0.1, rel=0.05)
    # 64 messages in 25,600 ns.
    assert options["-g"] / options["-L"] == pytest.approx(0.4, rel=0.03)
    assert "of the streams of the same run" in text
    (text,) = loggopsim.files(document(runs.run(*measured(*SIZES)))).values()
    assert "not known without a stream" in text


@settings(max_examples=50)
@given(curves(), st.lists(st.integers(1, 1 << 30), max_size=5))
def test_the_formula_gives_the_pieces(curve, more):
    assert problem(curve) is None
    told = factors(curve)
    for size in [*sizes_on(curve), *more]:
        if size > 0 or curve.pieces[0].first == 0:
            assert smpi_time(told, size) == pytest.approx(time_on(curve, size), rel=1e-6), size


@settings(max_examples=30)
@given(curves())
def test_segments_have_no_gap_and_thresholds_are_what_smpi_accepts(curve):
    found = segments(curve)
    assert (found[0].above, found[-1].up_to) == (-1, None)
    assert all(one.up_to == other.above > one.above for one, other in pairwise(found))
    for piece, segment in zip(curve.pieces, found, strict=True):
        assert segment.above < piece.first
        assert segment.up_to is None or piece.last <= segment.up_to
    told = factors(curve)
    assert min(told.latency, told.bandwidth) > 0
    assert all(factor >= 0 for _, factor in told.latency_factors)
    assert all(factor > 0 for _, factor in told.bandwidth_factors)
    boundaries = [boundary for boundary, _ in told.latency_factors]
    assert boundaries == sorted(set(boundaries))
    assert (boundaries[0], max(boundaries) <= LARGEST) == (0, True)
    if told.eager is not None:
        assert told.eager <= told.detached <= LARGEST


def test_a_straight_line_has_one_factor_and_no_overhead():
    told = factors(pieces((1, 1 << 20, 1000.0, 0.1)))
    assert (told.latency, told.bandwidth) == pytest.approx((998.4e-9, 1e10))
    assert told.latency_factors == told.bandwidth_factors == ((0, 1.0),)
    assert (told.overheads, told.eager, told.detached) == ((), None, None)


def test_pieces_that_meet_between_their_sizes_end_there():
    curve = pieces((1, 1024, 1000.0, 0.5), (4096, 1 << 20, 256.0, 0.871))
    (first, second) = segments(curve)
    assert first.up_to == second.above == 2005
    assert first.at(2005) == pytest.approx(second.at(2005), rel=1e-3)
    assert eager_limit(curve) is None
    # A jump to shorter times is no eager limit.
    curve = pieces((1, 8, 5000.0, 1.0), (16, 64, 1000.0, 1.0), (128, 1 << 20, 3000.0, 1.0))
    assert [bend.kind for bend in curve.bends] == ["jump", "jump"]
    assert eager_limit(curve) == 64


def test_a_steep_piece_makes_the_sender_busy_which_does_not_wait():
    curve = pieces((1, 4096, 1000.0, 0.1), (8192, 1 << 20, 0.0, 0.5))
    told = factors(curve)
    assert told.latency_factors[1][1] == 0.0
    (none, some) = told.overheads
    assert none == (0, 0.0, 0.0)
    assert some[0] == segments(curve)[1].above
    assert told.detached == LARGEST
    assert smpi_time(told, 1 << 20) == pytest.approx(0.5 * (1 << 20))


def test_what_no_simulator_can_have():
    for of, said in (
        ([(1, 64, -5.0, 1.0)], "from 1 to 64 B an empty message takes less than no time"),
        ([(1, 64, 5.0, 1.0), (128, 256, -500.0, 1.0)],
         "from 128 to 256 B a message takes less than no time: measure more sizes"),
        ([(1, 64, 5.0, -0.01), (4096, 1 << 20, 1.0, 1.0)],
          "more sizes there, or leave these out: -s 4K..1M"),
        ([(1, 8, 5.0, 1.0), (16, 64, 30.0, 0.0)], "from 16 B on the time does not grow"),
        ([(1, 8, 5.0, 1.0), (1 << 31, 1 << 32, 5.0, 1.0)], "no sizes from 2 GiB on"),
    ):  # fmt: skip
        assert said in problem(pieces(*of))
