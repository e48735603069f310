"""SimGrid replays what was measured: a ping-pong takes as long on the exported platform as by the
fitted pieces."""

import pytest

from halftrip.analysis.piecewise_fits import piecewise_fits
from halftrip.convert.export.fitted_curve import FittedCurve
from halftrip.convert.export.simgrid import platform
from halftrip.report.document import document
from harness import runs
from harness.pieces import pieces, sizes_on, time_on
from harness.smpi import Smpi, need_simgrid

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


@pytest.fixture(scope="module")
def smpi(tmp_path_factory):
    need_simgrid()
    return Smpi(tmp_path_factory.mktemp("smpi"))


def check(smpi, platform, curve, sizes, *options):
    replayed = smpi.replayed(platform, sizes, *options)
    assert list(replayed) == sizes
    for size, ns in replayed.items():
        # It prints nanoseconds to six places.
        assert ns == pytest.approx(time_on(curve, size), rel=1e-3, abs=1e-6), size


def exported(curve, directory):
    """The platform of a run with these pieces."""
    measured = runs.measurement("mpi")
    found = FittedCurve(measured.configuration.curve, curve)
    path = directory / "network.xml"
    path.write_text(platform(document(runs.run(measured)), found))
    return path


@pytest.mark.parametrize(
    "of",
    [
        # A line, an eager limit, and another time per byte.
        [(0, 1 << 20, 1000.0, 0.1)],
        [(1, 1024, 150.0, 0.05), (2048, 65536, 900.0, 0.2), (1 << 17, 1 << 22, 9000.0, 0.08)],
        # Short messages that all take the same time; faster ones above; a latency of some ns.
        [(1, 256, 800.0, 0.0), (512, 1 << 20, 400.0, 1.0)],
        [(1, 64, 5.0, 0.2), (128, 1 << 20, 15.0, 0.05)],
        # Steeper and steeper, without a start-up: the sender takes what a network cannot.
        [(1, 4096, 0.0, 0.1), (8192, 1 << 16, 0.0, 0.3), (1 << 17, 1 << 23, 0.0, 2.0)],
        [(1, 4096, 1e6, 100.0), (8192, 1 << 20, 0.0, 1000.0)],
    ],
)
def test_a_ping_pong_takes_as_long_as_by_the_pieces(smpi, of, tmp_path):
    curve = pieces(*of)
    check(smpi, exported(curve, tmp_path), curve, sizes_on(curve))


def test_a_run_is_measured_fitted_exported_and_replayed(smpi, shell):
    plan = shell.directory / "two.toml"
    plan.write_text(PLAN)
    result = shell.run(plan.name)
    assert result.status == 0, result.err
    done = shell.call("export", result.path.name, "--to", "simgrid")
    assert (done.status, done.err) == (0, "")
    (fit,) = piecewise_fits(result.run)
    platform = shell.directory / f"{result.path.stem}-simgrid.xml"
    check(smpi, platform, fit.found, sizes_on(fit.found))
    replayed = smpi.replayed(platform, [8, 8192, 20000, 1 << 20])
    for size, latency, bandwidth in (
        (8, 2000, 2e9),
        (8192, 2000, 2e9),
        (20000, 9000, 1e10),
        (1 << 20, 9000, 1e10),
    ):
        assert replayed[size] == pytest.approx(latency + size / bandwidth * 1e9, rel=0.05), size
