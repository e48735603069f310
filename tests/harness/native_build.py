"""Builds of the native module other than the installed one."""

import os
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nanobind

_ROOT = Path(__file__).parent.parent.parent
BINDINGS = sorted((_ROOT / "native" / "bindings").glob("*.cpp"))
# The sources that no build is without.
NEEDED = ("local", "delayed_local", "module", "staged", "start_watch")
COMPILER = os.environ.get("CXX", "c++")


def built_module(folder, sources, flags=()):
    """The path of a module in `folder`, out of some of BINDINGS, which are compiled and linked with
    `flags`."""
    sources = [*sources, Path(nanobind.source_dir()) / "nb_combined.cpp"]
    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda source: _compiled(folder, source, flags), sources))
    built = folder / "_native.so"
    subprocess.run([COMPILER, "-shared", *flags, *objects, "-o", built], check=True)
    return built


def _compiled(folder, source, flags):
    """An object file. nanobind itself is not under test, so it is compiled as it is."""
    includes = (nanobind.include_dir(), sysconfig.get_path("include"))
    command = [
        "-std=c++20",
        "-Og",
        "-g1",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-omit-frame-pointer",
    ]
    if source in BINDINGS:
        command += flags
    else:
        robin_map = Path(nanobind.source_dir()).parent / "ext" / "robin_map" / "include"
        command += ["-fno-strict-aliasing", f"-I{robin_map}"]
    command += [flag for path in includes for flag in ("-isystem", path)]
    target = folder / f"{source.stem}.o"
    subprocess.run([COMPILER, *command, "-c", source, "-o", target], check=True)
    return target
