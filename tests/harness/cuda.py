"""A stand-in for CUDA's driver, NVML and NCCL, built from C: device memory that the host cannot
touch, and planted times. It proves halftrip's code, never a figure."""

import subprocess
import sys

from harness.files import ROOT

SOURCES = ROOT / "tests" / "native" / "stand_in"
# In the order in which they are built: NCCL's needs the driver's.
LIBRARIES = {
    "libcuda.so.1": ("devices.c", "memory.c", "streams.c"),
    "libnvidia-ml.so.1": ("nvml.c",),
    "libnccl.so.2": ("nccl.c",),
    "made_clock.so": ("made_clock.c",),
}


def build_stand_in(folder):
    """Builds the libraries in `folder`, which a program finds them in by LD_LIBRARY_PATH."""
    for name, sources in LIBRARIES.items():
        others = [folder / "libcuda.so.1"] if name == "libnccl.so.2" else []
        command = ["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
        files = [SOURCES / source for source in sources]
        subprocess.run([*command, *files, *others, "-o", folder / name, "-lpthread"], check=True)


def stand_in(folder, **settings):
    """The environment in which a program finds the stand-in that was built in `folder`; settings
    are those of its sources, such as ``h2d="20000,10"``."""
    variables = {f"STANDIN_CUDA_{name.upper()}": str(value) for name, value in settings.items()}
    return {"LD_LIBRARY_PATH": str(folder)} | variables


def said(folder, code, **settings):
    """What such a program in Python prints; it complains of nothing."""
    result = python(code, stand_in(folder, **settings))
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def python(code, environment):
    """Runs a program in Python in a process of its own: its result."""
    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
