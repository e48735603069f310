"""The benchmarks: every family builds its comparisons, with every peer that it names."""

import contextlib
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from harness.cuda import stand_in
from harness.files import ROOT, module
from lab.hosts import need_hosts

# How many comparisons each family has: at one size each, as the fixture below has it.
FAMILIES = {
    "mpi": 5,
    # Three MPIs, and TCP twice or once.
    "stream": 3 + 2,
    "bidirectional": 3 + 1,
    # Three MPIs, put and get.
    "onesided": 3 * 2,
    "mpi4py": 1,
    "tcp": 3,
    "udp": 2,
    "shm": 4,
    # Two ways to start: tcp, udp and a stream; then tcp and udp that poll, and a stream of udp.
    "hosts": 2 * 3 + 3,
}
THROUGHPUT = ("stream", "bidirectional", "onesided")


def is_throughput(family, name):
    return family in THROUGHPUT or (family == "hosts" and ", stream," in name)


# Peers whose mean is known beside their median.
WITH_MEANS = ("plain C", "sockperf", "a script")
# It needs nothing that is not installed beside halftrip.
WITHOUT_PROGRAMS = ("mpi4py",)


@pytest.fixture
def peers(monkeypatch):
    """The benchmark, with so little to measure as still shows that everything is compared."""
    made = module("benchmarks/peers.py")
    families = sys.modules["families"]
    halftrip = families.halftrip
    monkeypatch.setattr(families.two_hosts, "LATENCY_SIZES", (64,))
    monkeypatch.setattr(families.two_hosts, "SECOND", ("--time", "20ms"))
    monkeypatch.setattr(families, "LATENCY_SIZES", (8,))
    monkeypatch.setattr(families, "WINDOW_SIZES", (65536,))
    monkeypatch.setattr(families, "WRITE_SIZES", (131072,))
    monkeypatch.setattr(
        families, "halftrip", lambda *given, **more: halftrip(*given, "--time", "20ms", **more)
    )
    return made


def compare(peers, monkeypatch, capsys, *arguments):
    """What the benchmark prints: its lines and its errors."""
    monkeypatch.setattr(sys, "argv", ["peers.py", *arguments])
    peers.main()
    printed = capsys.readouterr()
    return printed.out.splitlines(), printed.err


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_builds_its_comparisons(peers, monkeypatch, family):
    """Without its peers: whether these are installed is looked up, and C is compiled, before."""
    families = sys.modules["families"]
    asked = []
    for each in (families, families.two_hosts):
        monkeypatch.setattr(each, "require", lambda *programs: asked.extend(programs))
    monkeypatch.setattr(families, "plain_c", lambda *_: dict)
    if family == "hosts":
        need_hosts()
    with contextlib.ExitStack() as resources:
        made = list(families.FAMILIES[family](resources))
    assert len({comparison.name for comparison in made}) == len(made) == FAMILIES[family]
    for comparison in made:
        assert callable(comparison.ours)
        assert callable(comparison.peer)
        goal = comparison.goals(64)
        assert goal.more_is_better == is_throughput(family, comparison.name)
    assert set(asked) <= set(sys.modules["contenders"].PACKAGES)
    assert bool(asked) == (family not in WITHOUT_PROGRAMS)


def test_a_figure_is_that_of_all_slices(peers, shell):
    contenders = sys.modules["contenders"]
    result = shell.run("simulated", "-s", "8", "-r", "3", "--launches", "1")
    assert result.status == 0, result.err
    (slices,) = result.run.by_configuration.values()
    assert len(slices) == 3
    every = np.concatenate([each.series.times for each in slices])
    figures = contenders.times_of(result.run, contenders.median_ns)
    assert figures == {8: (np.median(every) / 1e3, every.mean() / 1e3)}


def test_every_family_is_known(peers):
    assert set(sys.modules["families"].FAMILIES) == set(FAMILIES)


def test_a_family_that_is_not_there_is_said(peers, monkeypatch, capsys):
    with pytest.raises(SystemExit) as ended:
        compare(peers, monkeypatch, capsys, "--only", "steam")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "'steam'" in said
    assert "stream" in said


@pytest.mark.extended
@pytest.mark.parametrize("family", FAMILIES)
def test_every_peer_is_compared(shell, peers, monkeypatch, capsys, family):
    if family == "hosts":
        need_hosts()
    with shell.inside():
        lines, _ = compare(peers, monkeypatch, capsys, "--only", family, "--rounds", "1")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]
    assert len({row[0] for row in rows}) == len(rows) == FAMILIES[family]
    for name, _, figure, ours, peer, ratio, wanted, _, _, by_mean, by_best in rows:
        assert re.fullmatch(r"[\d.]+ \([\d.]+ to [\d.]+\)", ratio)
        assert float(ratio.split()[0]) == pytest.approx(float(ours) / float(peer), rel=0.01)
        more = is_throughput(family, name)
        assert figure.endswith("more is better" if more else "less is better")
        if family == "onesided":
            assert wanted.startswith("0.95 to 1.05")
        else:
            assert wanted.startswith("at least" if more else "at most")
        # Where halftrip measures both, it has the means of both.
        has_means = name.endswith(WITH_MEANS) or ", mpi of " in name
        assert (by_mean != "-") == has_means
        # There is one round.
        assert float(by_best) == pytest.approx(float(ratio.split()[0]), rel=0.01)


# Paths to devices, with a stand-in for the driver.

DEVICE_PATHS = (sys.executable, str(ROOT / "benchmarks" / "device_paths.py"))
FEW = ("--sizes", "8,16K", "--transports", "cuda-ipc,shm", "--time", "10ms", "--rounds", "1")


def device_paths(directory, folder, **settings):
    """The benchmark's status, output and errors; settings are those of the stand-in."""
    return subprocess.run(
        [*DEVICE_PATHS, *FEW],
        cwd=directory,
        env=os.environ | stand_in(folder, **settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def table(lines, columns):
    """The cells of the rows with so many columns."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return [row for row in cells if len(row) == columns and "---" not in row[0]][1:]


def figure(cell):
    """The first number of a cell."""
    return float(cell.split()[0].replace(",", ""))


def test_paths_to_devices_are_printed_beside_copies_by_plain_c(tmp_path, cuda_libraries):
    """What is planted is far longer than what either program adds: both see it."""
    planted = {"h2d": 900, "d2h": 600, "d2d": 300}
    settings = {name: f"{us}000" for name, us in planted.items()}
    result = device_paths(tmp_path, cuda_libraries, p2p="300000", **settings)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    copies = table(lines, 6)
    assert {(row[0], row[1]) for row in copies} == {
        (name, size) for name in planted for size in ("4K", "64K", "1M")
    }
    for name, size, ours, plain, ratio, wanted in copies:
        # Never sooner; later where another program has the core.
        assert figure(ours) >= planted[name]
        assert figure(plain) >= planted[name]
        one = float(ratio.split()[0])
        assert one == pytest.approx(figure(ours) / figure(plain), rel=0.01)
        verdict = "ok" if one <= 1.02 else "missed"
        assert wanted == (f"at most 1.02: {verdict}" if size == "1M" else "")
    paths = {(row[0], row[1]): row[2:] for row in table(lines, 5)}
    assert len(paths) == 2 * 2 * (2 * 2 + 2)
    for (path, _), (time, _, own) in paths.items():
        needed = 300 if path.startswith("cuda-ipc") else 1500
        assert (own != "") == ("cuda@1" not in path)
        assert not own or figure(own) >= needed
        # Those of a window overlap.
        if "window" not in path:
            assert figure(time) >= needed
    assert lines[-1].startswith("the CUDA driver of this run is a stand-in")


def test_without_a_device_there_is_nothing_to_compare(tmp_path, cuda_libraries):
    result = device_paths(tmp_path, cuda_libraries, devices=0)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("cuda@0 was not measured: ")
    assert "Traceback" not in result.stderr
