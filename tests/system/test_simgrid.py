"""SimGrid replays what was measured: a ping-pong takes as long on the exported platform as by the
fitted pieces."""

import shutil

import pytest

from halftrip.analysis.piecewise_fits import piecewise_fits
from halftrip.convert.export.fitted_curve import FittedCurve
from halftrip.convert.export.simgrid import platform
from halftrip.report.document import document
from harness import runs
from harness.files import ROOT
from harness.need import need
from harness.pieces import pieces, sizes_on, time_on

pytestmark = pytest.mark.extended

# A path of two protocols, in virtual time.
PLAN = """
sizes = "1..4M"
[simulated]
latency = "2us"
bandwidth = "2GB"
segments = [{ from = "16K", latency = "9us", bandwidth = "10GB" }]
noise = { kind = "lognormal", spread = "1%" }
"""


@pytest.fixture
def replay(shell):
    """Half of the round trip, ns, of messages of these sizes between two ranks on a platform."""
    needed = (shutil.which("smpicc"), shutil.which("smpirun"))
    need(None not in needed, "needs SimGrid: apt-get install libsimgrid-dev")
    source = ROOT / "benchmarks" / "smpi_pingpong.c"
    done = shell.execute("smpicc", "-O2", source, "-o", "pingpong")
    assert (done.status, done.err) == (0, "")

    def replayed(platform, sizes):
        on_two = ("smpirun", "-platform", platform, "-np", "2")
        done = shell.execute(*on_two, "./pingpong", *map(str, sizes))
        assert done.status == 0, done.err
        return {int(size): float(ns) for size, ns in map(str.split, done.out.splitlines())}

    return replayed


def check(replay, platform, curve):
    sizes = sizes_on(curve)
    replayed = replay(platform, sizes)
    assert list(replayed) == sizes
    for size, ns in replayed.items():
        # It prints nanoseconds to six places.
        assert ns == pytest.approx(time_on(curve, size), rel=1e-3, abs=1e-6), size


def test_a_ping_pong_takes_as_long_as_by_the_pieces(replay, tmp_path):
    """Steeper and steeper, without a start-up: the sender takes what a network cannot."""
    curve = pieces((1, 4096, 0.0, 0.1), (8192, 1 << 16, 0.0, 0.3), (1 << 17, 1 << 23, 0.0, 2.0))
    measured = runs.measurement("mpi")
    found = FittedCurve(measured.configuration.curve, curve)
    path = tmp_path / "network.xml"
    path.write_text(platform(document(runs.run(measured)), found))
    check(replay, path, curve)


def test_a_run_is_measured_fitted_exported_and_replayed(replay, shell):
    plan = shell.directory / "two.toml"
    plan.write_text(PLAN)
    result = shell.run(plan.name)
    assert result.status == 0, result.err
    done = shell.call("export", result.path.name, "--to", "simgrid")
    assert (done.status, done.err) == (0, "")
    (fit,) = piecewise_fits(result.run)
    platform = shell.directory / f"{result.path.stem}-simgrid.xml"
    check(replay, platform, fit.found)
    replayed = replay(platform, [8, 8192, 20000, 1 << 20])
    for size, latency, bandwidth in (
        (8, 2000, 2e9),
        (8192, 2000, 2e9),
        (20000, 9000, 1e10),
        (1 << 20, 9000, 1e10),
    ):
        assert replayed[size] == pytest.approx(latency + size / bandwidth * 1e9, rel=0.05), size
