"""The tests of the native module once more, on a build with AddressSanitizer and
UndefinedBehaviorSanitizer: it reports every access outside an object and every undefined operation.

The module is tested, not a program of its own: so its bindings are, too, with the arrays and the
endpoints that all other tests use.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.native_build import BINDINGS, COMPILER, NEEDED, built_module

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
UNIT = ROOT / "tests" / "unit"
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Both halves take about as long; most of it is sleep.
HALVES = (
    ["test_datagram_pingpong.py", "test_native.py", "test_native_mpi.py"],
    ["test_datagram_stream.py", "test_datagram_wire.py", "test_native_patterns.py"],
)  # fmt: skip


def test_every_test_of_the_module_is_here():
    found = {path.name for kind in ("native", "datagram") for path in UNIT.glob(f"test_{kind}*.py")}
    assert found == {name for half in HALVES for name in half}


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The parts that the tests use, built with the sanitizers."""
    parts = {*NEEDED, "mpi", "delayed_mpi", "datagram"}
    # The longest first.
    sources = sorted(BINDINGS, key=lambda path: path.stem not in {"local", "mpi"})
    sources = [path for path in sources if path.stem in parts]
    return built_module(tmp_path_factory.mktemp("sanitized"), sources, SANITIZERS)


def runtime(name):
    """The path of a library of the compiler."""
    path = subprocess.run(
        [COMPILER, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert Path(path).is_file(), f"{COMPILER} has no {name}: g++ and its sanitizers are needed"
    return path


@pytest.mark.extended
@pytest.mark.timeout(900)  # it compiles, beside whatever else this machine does
def test_no_access_is_out_of_bounds_and_nothing_is_undefined(module):
    environment = os.environ | {
        # The interpreter is not built with the sanitizer, which has to come first all the same; and
        # it looks for the C++ library's functions as soon as it is loaded.
        "LD_PRELOAD": f"{runtime('libasan.so')}:{runtime('libstdc++.so.6')}",
        # The interpreter never frees much of what it allocates, so a report of leaks would be of
        # that alone. Requests of MPI that leak are counted by test_native_mpi.py.
        "ASAN_OPTIONS": "detect_leaks=0:print_legend=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # Each object in memory of its own, with a guard behind it.
        "PYTHONMALLOC": "malloc",
    }
    runs = [
        subprocess.Popen(
            # -s: what pytest captures is lost where a sanitizer ends the process.
            [sys.executable, HERE / "run_with_module.py", module, "-q", "-s", "-p",
             "no:cacheprovider", "-k", "not stub", *(UNIT / name for name in half)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
        )
        for half in HALVES
    ]  # fmt: skip
    outputs = [run.communicate()[0] for run in runs]
    for run, output in zip(runs, outputs, strict=True):
        assert run.returncode == 0, output[-20_000:]
