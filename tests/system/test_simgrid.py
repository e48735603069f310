"""SimGrid replays what was measured: a ping-pong takes as long on the exported platform as by the
fitted pieces."""

import shutil

import pytest

from halftrip.analysis.fit import piecewise_fits
from harness.files import ROOT
from harness.need import need
from harness.pieces import sizes_on, time_on

# A path of two protocols, in virtual time.
PLAN = """
sizes = "1..4M"
[simulated]
latency = "2us"
bandwidth = "2GB"
segments = [{ from = "16K", latency = "9us", bandwidth = "10GB" }]
noise = { kind = "lognormal", spread = "1%" }
"""


@pytest.mark.extended
def test_a_run_is_measured_fitted_exported_and_replayed(shell):
    needed = (shutil.which("smpicc"), shutil.which("smpirun"))
    need(None not in needed, "needs SimGrid: apt-get install libsimgrid-dev")
    (shell.directory / "two.toml").write_text(PLAN)
    result = shell.measure("two.toml")
    done = shell.call("export", "run.jsonl", "--to", "simgrid")
    assert (done.status, done.err) == (0, "")
    (fit,) = piecewise_fits(result.run)
    # Sizes whose time the model says, and on both sides of its steps.
    planted = {8: 2004, 8192: 6096, 20000: 11000, 1 << 20: 113857.6}
    sizes = sorted({*planted, *sizes_on(fit.found)})
    source = ROOT / "benchmarks" / "smpi_pingpong.c"
    done = shell.execute("smpicc", "-O2", source, "-o", "pingpong")
    assert (done.status, done.err) == (0, "")
    on_two = ("smpirun", "-platform", "run-simgrid.xml", "-np", "2", "./pingpong")
    # It takes no directory with blanks.
    done = shell.execute(*on_two, *map(str, sizes), environment={"TMPDIR": "/tmp"})
    assert done.status == 0, done.err
    replayed = {int(size): float(ns) for size, ns in map(str.split, done.out.splitlines())}
    assert list(replayed) == sizes
    for size, ns in replayed.items():
        # It prints nanoseconds to six places.
        assert ns == pytest.approx(time_on(fit.found, size), rel=1e-3, abs=1e-6), size
    for size, ns in planted.items():
        assert replayed[size] == pytest.approx(ns, rel=0.05), size
