"""``show --layers``: what each layer adds to the one below it."""

import math

import numpy as np
import pytest

from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.report.document import document
from halftrip.report.numbers import bounds, with_sign
from halftrip.report.selection import Selection, selected
from halftrip.stats.estimate import Estimate
from halftrip.views.layers import layers
from halftrip.views.no_layers import OTHER_WAY
from halftrip.views.screen import first_screen
from harness import runs
from harness.screens import rows_under, text_of

# One way, ns, and bytes per ns.
PATHS = {
    "mpi": (200, 12),
    "mpi4py": (510, 11.5),
    "mpi4py-object": (3600, 6.9),
    "unix": (9000, 3),
    "mp-pipe": (14_000, 2.5),
    "mp-queue": (31_000, 1),
    "tcp": (12_000, 2),
    "zmq": (12_000, 2),
}
SHARED = {"shm": (50, 20), "shm-ring": (90, 20), "mp-shm": (20_000, 15)}
SIZES = (8, 1024, 1 << 20)
NO_TWO = "no layers: no two of these transports are layers of each other; also measure with"


def slices(transport, size, count=10, wander=0.01, **changes):
    """Slices whose medians differ by this share."""
    latency, rate = (PATHS | SHARED)[transport]
    window = changes.get("window", 1)
    # A measurement has round trips, of which a window has none.
    half = (latency + size / rate) * window / (2 if window > 1 else 1)
    generator = np.random.default_rng([size, latency, window, len(transport)])
    levels = generator.permutation(np.linspace(-1, 1, count)) if count > 1 else [0.0]
    wait = changes.pop("wait", "spin" if transport.startswith("mpi") else "block")
    levels = half * (1 + wander * np.array(levels))
    return runs.slices(transport, size, wait, levels=levels, rtts=(60.0, 61.0), **changes)


def run_of(*transports, sizes=SIZES, **changes):
    measurements = [slices(name, size, **changes) for name in transports for size in sizes]
    return runs.run(*(each for found in measurements for each in found))


def lines_of(run, width=200, round_trips=False, select=None):
    content = selected(document(run, round_trips, flags=False), select or Selection())
    return [line.rstrip() for line in text_of(layers(content), width).splitlines()]


def whole(lines):
    """A text that was broken into lines, in one."""
    return " ".join(line.strip() for line in lines)


def values(text):
    """The bounds of an interval."""
    return tuple(float(word.replace(",", "")) for word in text.split(" to "))


@pytest.fixture(scope="module")
def everything():
    """All layers, by ping-pong and by stream."""
    streams = [
        each
        for name in PATHS
        for size in (8, 1 << 20)
        for each in slices(name, size, pattern="stream", window=64)
    ]
    return runs.run(*run_of(*PATHS).measurements, *streams)


def test_layers_subtract(everything):
    """What a layer adds is the difference of both latencies; its interval contains the truth."""
    rows = rows_under(lines_of(everything), "adds")
    assert [row["layer"] for row in rows] == ["mpi4py"] * 3
    for row, size in zip(rows, SIZES, strict=True):
        added = float(row["adds"])
        low, high = values(row["95 % interval"])
        true = (310 + size / 11.5 - size / 12) / 1e3
        assert low <= added <= high
        assert low <= true <= high
        ratio = float(row["latency"]) / float(row["below"])
        assert float(row["ratio"]) == pytest.approx(ratio, rel=0.01)


def test_bandwidth_is_lost_in_percent(everything):
    lines = lines_of(everything)
    rows = rows_under(lines, "change")
    assert [(row["layer"], row["size"]) for row in rows] == [("mpi4py", "8"), ("mpi4py", "1M")]
    for row, size in zip(rows, (8, 1 << 20), strict=True):
        low, high = values(row["95 % interval"])
        times = [latency + size / rate for latency, rate in (PATHS["mpi4py"], PATHS["mpi"])]
        assert low <= 100 * (times[1] / times[0] - 1) <= high < 0
        share = 100 * (float(row["bandwidth"].replace(",", "")) /
                       float(row["below"].replace(",", "")) - 1)  # fmt: skip
        assert float(row["change"]) == pytest.approx(share, abs=0.2)
        low, high = values(row["its interval"])
        assert low <= (times[0] - times[1]) / 1e3 <= high


def test_each_layer_has_a_line_before_the_tables_and_it_fits_the_terminal(everything):
    lines = lines_of(everything)
    said = lines[: lines.index("")]
    assert [line.partition(":")[0] for line in said] == [
        "mpi4py over mpi",
        "mpi4py-object over mpi4py",
        "mp-pipe over unix",
        "mp-queue over mp-pipe",
        "zmq over tcp",
    ]
    assert said[0].startswith("mpi4py over mpi: +0.31")
    assert " at 8 B, -4." in said[0]
    assert said[0].endswith(" at 1 MiB")
    assert " us (3.0" in said[1]
    assert " % bandwidth (-4" in said[1]
    assert said[4].count("not told apart") == 2
    lines = lines_of(everything, 80)
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line.startswith("no room for ")]
    # An interval stays on one line.
    assert "at 8 B" in whole(lines)
    assert not any(line.endswith(" to") for line in lines)
    # A wait that belongs to each layer gives way to figures.
    first = rows_under(lines, "adds")[0]
    assert {"layer", "size", "latency", "below", "adds", "95 % interval"} <= first.keys()
    assert "wait" not in first
    assert "wait" in rows_under(lines_of(everything, 130), "adds")[0]


def test_what_is_not_told_apart_says_so_by_signs_too():
    lines = lines_of(run_of("tcp", "zmq"))
    for row in rows_under(lines, "adds"):
        low, high = values(row["95 % interval"])
        assert low <= 0 <= high
        assert row["adds"].endswith("?")
    assert "zmq over tcp: time not told apart (" in lines[0]
    assert "? not told apart: the interval contains 0, or there is none" in lines
    apart = "".join(lines_of(run_of("unix", "mp-pipe")))
    assert not {"?", "~", "!"} & {*apart}
    lines = lines_of(run_of("unix", "mp-pipe", count=1))
    assert "time not told apart (no interval) at 8 B" in lines[0]
    row = rows_under(lines, "adds")[0]
    assert (row["adds"][-1], row["latency"][-1]) == ("?", "!")
    assert "95 % interval" not in row
    calm, wild = run_of("unix"), run_of("mp-pipe", wander=0.06)
    lines = lines_of(runs.run(*calm.measurements, *wild.measurements))
    row = rows_under(lines, "adds")[0]
    assert (row["latency"][-1] == "~", row["below"][-1] == "~") == (True, False)
    assert "~ us (" in lines[0]
    assert "~ caution   ! no: see show --why" in lines


def test_a_setting_of_which_a_layer_has_several_has_a_column_and_a_line():
    both = [m for wait in ("block", "spin") for m in run_of("mp-pipe", wait=wait).measurements]
    lines = lines_of(runs.run(*run_of("unix").measurements, *both))
    assert [line.partition(": ")[0] for line in lines[:2]] == [
        "mp-pipe block over unix",
        "mp-pipe spin over unix block",
    ]
    rows = rows_under(lines, "adds")
    assert {(row["layer"], row["wait"], row["over"]) for row in rows} == {
        ("mp-pipe", "block", "unix")
    }
    # A lower row that waits otherwise is named.
    assert any(line.split()[:4] == ["mp-pipe", "spin", "unix", "block"] for line in lines)
    exchanges = run_of("unix", "mp-pipe", sizes=(8,), pattern="exchange").measurements
    lines = lines_of(runs.run(*exchanges, *run_of("unix", "mp-pipe").measurements))
    assert " at 8 B (pingpong), " in lines[0]
    assert {row["pattern"] for row in rows_under(lines, "adds")} == {"exchange"}


def test_streams_of_small_messages_do_not_stand_for_bandwidth():
    """A default run has them beside a ping-pong of all sizes."""
    small = run_of("unix", "mp-pipe", sizes=(8,), pattern="stream", window=64)
    lines = lines_of(runs.run(*run_of("unix", "mp-pipe").measurements, *small.measurements))
    assert " at 8 B, -" in lines[0]
    assert lines[0].endswith(" at 1 MiB")
    alone = lines_of(small)
    assert " us per message (" in alone[0]
    assert " % bandwidth (" in alone[0]
    empty = lines_of(run_of("unix", "mp-pipe", sizes=(0,), pattern="stream", window=64))
    assert empty[0].endswith(" at 0 B")
    assert "bandwidth" not in empty[0]


def test_round_trips_are_shown_where_the_plan_says_so():
    run = run_of("unix", "mp-pipe")
    one_way, whole_trip = (lines_of(run, round_trips=each) for each in (False, True))
    assert whole_trip[0].startswith("mp-pipe over unix: +10.0")
    assert " us per round trip (" in whole_trip[0]
    single, double = (rows_under(lines, "adds")[0] for lines in (one_way, whole_trip))
    for name, of in (("adds", "adds"), ("round trip", "latency")):
        assert float(double[name]) == pytest.approx(2 * float(single[of]), rel=0.01)
    assert double["ratio"] == single["ratio"]


def test_a_selection_chooses_what_is_compared(everything):
    chosen = Selection(transports=["mpi", "mpi4py-object"], sizes=[(8, 8)])
    lines = lines_of(everything, select=chosen)
    assert lines[0].startswith("mpi4py-object over mpi: +3.398 us (3.370 to 3.427) at 8 B")
    assert {(row["size"], row["over"]) for row in rows_under(lines, "adds")} == {("8", "mpi")}


OF_ANOTHER_MODE = run_of("mpi4py", mode="nonblocking").measurements


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (runs.run(), "no layers: nothing was measured"),
        (
            run_of("mpi", "zmq"),
            f"{NO_TWO} mpi: ucx, libfabric, shm, tcp, mpi4py, mpi4py-object; with zmq: tcp",
        ),
        (
            run_of("mpi", "tcp"),
            f"no layers: mpi, tcp: {OTHER_WAY}",
        ),
        (
            runs.run(*run_of("mpi").measurements, *OF_ANOTHER_MODE),
            "no layers: mpi, mpi4py have no pattern, mode and size in common",
        ),
        (
            runs.run(runs.measurement("udp"), runs.measurement("pipe")),
            "no layers: pipe, udp: not built on another transport, nor another on it",
        ),
    ],
)
def test_a_run_without_layers_says_what_is_missing(run, said):
    assert lines_of(run) == [said]
    narrow = lines_of(run, 80)
    assert whole(narrow) == said
    assert max(map(len, narrow)) <= 80


def test_a_difference_has_as_many_digits_as_its_interval_supports():
    for low, value, high, said in (
        (0.279, 0.309, 0.341, ("+0.309", "0.279 to 0.341")),
        (-0.06, -0.001, 0.06, ("0.00", "-0.06 to 0.06")),
        (1234.0, 1250.0, 1290.0, ("+1,250", "1,234 to 1,290")),
        (-42.5, -40.26, -37.9, ("-40.3", "-42.5 to -37.9")),
        (0.0, 0.0, 0.0, ("0", "0 to 0")),
        (math.nan, 3.14159, math.nan, ("+3.14", "-")),
    ):
        estimate = Estimate(value, low, high)
        assert (with_sign(estimate), bounds(estimate)) == said


def test_the_command_prints_it(tmp_path, capsys):
    path = str(runs.save(run_of("unix", "mp-pipe"), tmp_path / "run.jsonl"))
    show_runs([path], ShowRequest(views=["layers"], wide=True, rtt=True))
    assert capsys.readouterr().out.startswith("mp-pipe over unix: +10.0")
    # The first screen names the view where it has something to show.
    for run, there in ((run_of("unix", "mp-pipe"), True), (run_of("unix", "tcp"), False)):
        shown = text_of(first_screen(document(run, flags=False), "a.jsonl"), 200)
        assert ("--layers" in shown) == there
    for files, shown, said in (
        ((), ShowRequest("nodes", ["layers"]), "--layers: --format nodes has no views"),
        (
            (),
            ShowRequest("csv", ["why", "layers"]),
            "--layers: --format csv has one view at a time",
        ),
        (("a", "b"), ShowRequest(views=["layers"]), "--layers shows one run; name one file"),
    ):
        with pytest.raises(UsageError, match=said):
            show_runs(files, shown)


def test_latencies_and_bandwidths_of_two_ways_are_said_to_be_so():
    said = "shm: replies go another way than streams"

    def shown(*names):
        found = [
            *(each for name in names for each in slices(name, 8)),
            *(
                each
                for name in names
                for each in slices(name, 8, pattern="stream", window=64, places="own")
            ),
        ]
        return "\n".join(lines_of(runs.run(*found)))

    assert said in shown("shm", "mp-shm")
    # The next layer below has one way for both.
    both = shown("shm", "shm-ring", "mp-shm")
    assert "mp-shm over shm-ring: " in both
    assert "shm-ring over shm: " in both
    assert said in both
    assert said not in shown("shm-ring", "mp-shm")
    assert said not in "\n".join(lines_of(run_of("shm", "mp-shm")))
