"""The objects that are chosen by name: transports, kinds of memory, launchers, formats.

Another package adds one by an entry point in its pyproject.toml:

    [project.entry-points."halftrip.transports"]
    example = "my_package.example:ExampleTransport"
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from halftrip.errors import UsageError


class Registry:
    """Objects by name, each written as ``module:attribute`` and imported when it is chosen.

    The `built_in` names come first. The others are the entry points of `group`; one with a built-in
    name is ignored.
    """

    def __init__(self, group: str, built_in: dict[str, str]) -> None:
        self.group = group
        self.built_in = built_in

    @cached_property
    def _plug_ins(self) -> dict[str, str]:
        if not have_plug_ins(sys.path):
            return {}
        from importlib.metadata import entry_points

        found = entry_points(group=self.group)
        return {entry.name: entry.value for entry in found if entry.name not in self.built_in}

    def __iter__(self) -> Iterator[str]:
        """All names, in the order in which tables show them."""
        yield from self.built_in
        yield from sorted(self._plug_ins)

    def __len__(self) -> int:
        return len(self.built_in) + len(self._plug_ins)

    def __contains__(self, name: object) -> bool:
        # Built-in names first: reading the entry points of all packages takes longer than the rest
        # of a --help.
        return name in self.built_in or name in self._plug_ins

    def place(self, name: str) -> tuple[int, str]:
        """The sort key of a name in tables: built-in names in their order, then others by name."""
        names = list(self.built_in)
        return (names.index(name) if name in names else len(names), name)

    def load(self, name: str) -> Any:
        """The object that a name stands for. Raises UsageError if a plug-in cannot be imported."""
        target = self.built_in.get(name) or self._plug_ins[name]
        module, _, attribute = target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:
            if name in self.built_in:
                raise
            said = str(error) or "no reason given"
            if not isinstance(error, (ImportError, AttributeError)):
                said = f"{type(error).__name__}: {said}"
            problem = f"{self.group} {name!r} ({target}) cannot be loaded: {said.splitlines()[0]}"
            raise UsageError(problem) from None


def have_plug_ins(directories: Sequence[str]) -> bool:
    """Whether a package that is installed in these directories may have entry points of halftrip's.
    To ask importlib.metadata, which reads all packages, takes as long as half of a --help."""
    for directory in directories:
        try:
            names = os.listdir(directory or os.curdir)
        except NotADirectoryError:
            # An archive.
            return True
        except OSError:
            continue
        for name in names:
            if not name.endswith((".dist-info", ".egg-info")):
                continue
            try:
                with open(os.path.join(directory, name, "entry_points.txt"), "rb") as file:
                    if b"[halftrip." in file.read():
                        return True
            except OSError:
                continue
    return False


SIMULATED = "simulated"

# Each is a subclass of transports.base.Transport.
TRANSPORTS = Registry(
    "halftrip.transports",
    {
        "mpi": "halftrip.transports.native.mpi:MpiTransport",
        "shm": "halftrip.transports.native.shm:ShmTransport",
        "pipe": "halftrip.transports.native.pipe:PipeTransport",
        "unix": "halftrip.transports.native.stream:UnixTransport",
        "tcp": "halftrip.transports.native.stream:TcpTransport",
        "udp": "halftrip.transports.native.udp:UdpTransport",
        "shm-ring": "halftrip.transports.native.shm:ShmRingTransport",
        "mpi4py": "halftrip.transports.python.mpi4py:Mpi4pyTransport",
        "mpi4py-object": "halftrip.transports.python.mpi4py_object:Mpi4pyObjectTransport",
        "mp-pipe": "halftrip.transports.python.mp_pipe:MpPipeTransport",
        "mp-queue": "halftrip.transports.python.mp_queue:MpQueueTransport",
        "mp-shm": "halftrip.transports.python.mp_shm:MpShmTransport",
        "zmq": "halftrip.transports.python.zeromq:ZmqTcpTransport",
        "zmq-ipc": "halftrip.transports.python.zeromq:ZmqIpcTransport",
        "dragon": "halftrip.transports.native.dragon:DragonTransport",
        "dragon-pipe": "halftrip.transports.python.dragon:DragonPipeTransport",
        "dragon-queue": "halftrip.transports.python.dragon:DragonQueueTransport",
        "cuda-ipc": "halftrip.transports.native.cuda_ipc:CudaIpcTransport",
        "nccl": "halftrip.transports.native.nccl:NcclTransport",
        SIMULATED: "halftrip.transports.simulated:SimulatedTransport",
    },
)
# The transports of a plan that names none.
DEFAULT_TRANSPORTS = ("mpi", "shm", "pipe", "unix", "tcp", "udp")
# Those of a plan that names none, but several hosts, and no MPI.
BETWEEN_HOSTS = ("tcp", "udp")
# Those between ranks that a server has started for a client: they move bytes, and nothing that a
# peer sends is unpickled.
SERVED_TRANSPORTS = ("tcp", "udp", "shm", "shm-ring", "pipe", "unix")
# Those between ranks that an mpiexec has started, and those that need a Dragon runtime.
MPI_TRANSPORTS = ("mpi", "mpi4py", "mpi4py-object")
DRAGON_TRANSPORTS = ("dragon", "dragon-pipe", "dragon-queue")

# Each is a function of the name of a device (empty: none was given) that returns a
# memory.allocator.Memory.
MEMORIES = Registry(
    "halftrip.memory",
    {
        "host": "halftrip.memory.host:host",
        "pinned": "halftrip.memory.pinned:PinnedMemory",
        "cuda": "halftrip.memory.cuda:CudaMemory",
        "managed": "halftrip.memory.managed:ManagedMemory",
    },
)

# Each is a plan.setting.Setting; those of halftrip's own are in plan.settings.
EXTRA_SETTINGS = Registry("halftrip.settings", {})

# Each is a subclass of job.launchers.base.Launcher.
LAUNCHERS = Registry(
    "halftrip.launchers",
    {
        "local": "halftrip.job.launchers.local:LocalLauncher",
        "mpiexec": "halftrip.job.launchers.mpiexec:MpiexecLauncher",
        "dragon": "halftrip.job.launchers.dragon:DragonLauncher",
        "ssh": "halftrip.job.launchers.ssh:SshLauncher",
        "peer": "halftrip.job.launchers.peer:PeerLauncher",
    },
)

# Each is a tools.tables.Format: the output of another tool.
IMPORTERS = Registry(
    "halftrip.importers",
    {
        "osu": "halftrip.tools.osu:FORMAT",
        "imb": "halftrip.tools.imb:FORMAT",
        "netpipe": "halftrip.tools.netpipe:FORMAT",
        "mpptest": "halftrip.tools.mpptest:FORMAT",
        "nccl-tests": "halftrip.tools.nccl_tests:FORMAT",
        "perftest": "halftrip.tools.perftest:FORMAT",
        "mpi4py-ve": "halftrip.tools.mpi4py_ve:FORMAT",
        "eight-measurements": "halftrip.tools.eight_measurements:FORMAT",
        "dragon": "halftrip.tools.dragon:FORMAT",
        "one-box": "halftrip.tools.one_box:FORMAT",
        "hpcbench": "halftrip.tools.hpcbench:FORMAT",
        "iperf3": "halftrip.tools.iperf3:FORMAT",
        "sockperf": "halftrip.tools.sockperf:FORMAT",
        "pyperf": "halftrip.tools.pyperf:FORMAT",
        "qperf": "halftrip.tools.qperf:FORMAT",
        "ucx-perftest": "halftrip.tools.ucx_perftest:FORMAT",
        "netperf": "halftrip.tools.netperf:FORMAT",
    },
)

# Each is a function of a document, which returns files: see export.
EXPORTS = Registry(
    "halftrip.exports",
    {
        "csv": "halftrip.export.csv:files",
        "parquet": "halftrip.export.parquet:files",
        "json": "halftrip.export.documents:json",
        "markdown": "halftrip.export.documents:markdown",
        "latex": "halftrip.export.documents:latex",
        "openmetrics": "halftrip.export.openmetrics:files",
        "google-benchmark": "halftrip.export.google_benchmark:files",
        "gnuplot": "halftrip.export.gnuplot:files",
        "hpcbench": "halftrip.tools.hpcbench:files",
        "simgrid": "halftrip.export.simgrid:files",
        "loggopsim": "halftrip.export.loggopsim:files",
    },
)

# Each is a report.document.Style: a function of a document, as an older tool would print it.
STYLES = Registry(
    "halftrip.styles",
    {
        "osu": "halftrip.tools.osu:render",
        "imb": "halftrip.tools.imb:render",
        "iperf3": "halftrip.tools.iperf3:render",
        "sockperf": "halftrip.tools.sockperf:render",
        "mpi4py-ve": "halftrip.tools.mpi4py_ve:render",
        "eight-measurements": "halftrip.tools.eight_measurements:render",
        "dragon": "halftrip.tools.dragon:render",
        "one-box": "halftrip.tools.one_box:render",
        "hpcbench": "halftrip.tools.hpcbench:render",
    },
)

# Each makes plots.chart.Charts of plots.chart.Subjects, or raises UsageError, which says what these
# lack.
PLOTS = Registry(
    "halftrip.plots",
    {
        "latency": "halftrip.plots.curves:latency",
        "bandwidth": "halftrip.plots.curves:bandwidth",
        "rate": "halftrip.plots.curves:rate",
        "samples": "halftrip.plots.samples:samples",
        "distribution": "halftrip.plots.distribution:distribution",
        "usage": "halftrip.plots.usage:usage",
        "system": "halftrip.plots.system:system",
        "pairs": "halftrip.plots.pairs:pairs",
        "compare": "halftrip.plots.compare:compare",
        "layers": "halftrip.plots.layers:layers",
        "history": "halftrip.plots.history:history",
    },
)

# Each is a report.document.Format: a function of a document.
FORMATS = Registry(
    "halftrip.formats",
    {
        "table": "halftrip.views.details:table",
        "json": "halftrip.views.details:json",
        "csv": "halftrip.views.details:csv",
        "markdown": "halftrip.views.details:markdown",
        "latex": "halftrip.views.details:latex",
        "html": "halftrip.page.html:of_document",
        "nodes": "halftrip.views.nodes:render",
    },
)
