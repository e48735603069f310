"""The objects that are chosen by name: transports, kinds of memory, launchers, views, formats. Each
is a line here, or an entry point of another package (`entries.py`)."""

from __future__ import annotations

from collections.abc import Iterable

from halftrip.entries import (
    Entries,
    InReport,
    Needs,
    PlotEntry,
    Registry,
    TransportEntry,
    ViewEntry,
    ViewOption,
)

SIMULATED = "simulated"

# Each is a subclass of transports.base.Transport.
TRANSPORTS: Entries[TransportEntry] = Entries(
    "halftrip.transports",
    TransportEntry,
    {
        "mpi": TransportEntry("halftrip.transports.native.mpi:MpiTransport", needs="mpi",
                              built_on="ucx", may_use=("ucx", "libfabric", "shm", "tcp")),
        "shm": "halftrip.transports.native.shm:ShmTransport",
        "pipe": "halftrip.transports.native.pipe:PipeTransport",
        "unix": "halftrip.transports.native.stream:UnixTransport",
        "tcp": "halftrip.transports.native.stream:TcpTransport",
        "udp": "halftrip.transports.native.udp:UdpTransport",
        "shm-ring": TransportEntry("halftrip.transports.native.shm:ShmRingTransport",
                                   built_on="shm"),
        "mpi4py": TransportEntry("halftrip.transports.python.mpi4py:Mpi4pyTransport",
                                 needs="mpi", built_on="mpi"),
        "mpi4py-object": TransportEntry(
            "halftrip.transports.python.mpi4py_object:Mpi4pyObjectTransport",
            needs="mpi", built_on="mpi4py"),
        "mp-pipe": TransportEntry("halftrip.transports.python.mp_pipe:MpPipeTransport",
                                  built_on="unix"),
        "mp-queue": TransportEntry("halftrip.transports.python.mp_queue:MpQueueTransport",
                                   built_on="mp-pipe"),
        "mp-shm": TransportEntry("halftrip.transports.python.mp_shm:MpShmTransport",
                                 built_on="shm-ring"),
        "zmq": TransportEntry("halftrip.transports.python.zeromq:ZmqTcpTransport", built_on="tcp"),
        "zmq-ipc": TransportEntry("halftrip.transports.python.zeromq:ZmqIpcTransport",
                                  built_on="unix"),
        "dragon": TransportEntry("halftrip.transports.native.dragon:DragonTransport",
                                 needs="dragon", built_on="mp-shm"),
        "dragon-pipe": TransportEntry("halftrip.transports.python.dragon:DragonPipeTransport",
                                      needs="dragon", built_on="dragon"),
        "dragon-queue": TransportEntry("halftrip.transports.python.dragon:DragonQueueTransport",
                                       needs="dragon", built_on="dragon"),
        "libfabric": TransportEntry("halftrip.transports.native.libfabric:LibfabricTransport",
                                    needs="library", may_use=("shm", "tcp")),
        "cuda-ipc": TransportEntry("halftrip.transports.native.cuda_ipc:CudaIpcTransport",
                                   needs="cuda"),
        "nccl": TransportEntry("halftrip.transports.native.nccl:NcclTransport", needs="cuda"),
        "ucx": TransportEntry("halftrip.transports.native.ucx:UcxTransport", needs="library",
                              may_use=("shm", "tcp")),
        SIMULATED: "halftrip.transports.simulated:SimulatedTransport",
    },
)  # fmt: skip
# The transports of a plan that names none.
DEFAULT_TRANSPORTS = ("mpi", "shm", "pipe", "unix", "tcp", "udp")
# Those of a plan that names none, but several hosts, and no MPI.
BETWEEN_HOSTS = ("tcp", "udp")
# Those between ranks that a server has started for a client: they move bytes, and nothing that a
# peer sends is unpickled.
SERVED_TRANSPORTS = ("tcp", "udp", "shm", "shm-ring", "pipe", "unix")


def needing(what: Needs, transports: Iterable[str] = tuple(TRANSPORTS.built_in)) -> list[str]:
    """Those of these transports that need this."""
    return [name for name in transports if TRANSPORTS.entry(name).needs == what]


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
        "fi_pingpong": "halftrip.tools.fi_pingpong:FORMAT",
        "fabtests": "halftrip.tools.fabtests:FORMAT",
        "mpi4py-bench": "halftrip.tools.mpi4py_bench:FORMAT",
        "mpi-benchmarks-jl": "halftrip.tools.mpi_benchmarks_jl:FORMAT",
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

# Each is a function of a document that returns a render.blocks.View.
VIEWS: Entries[ViewEntry] = Entries(
    "halftrip.views",
    ViewEntry,
    {
        "details": ViewEntry("halftrip.views.details:details",
                             "Every row, with all figures there is room for.",
                             has_times=True, needs_flags="for programs"),
        "why": ViewEntry("halftrip.views.why:why", "Why rows cannot be trusted, and what to do.",
                         (ViewOption("all", "every", "With --why: row by row."),)),
        "tails": ViewEntry("halftrip.views.tails:tails",
                           "p50, p90, p99 and p99.9 with their intervals.",
                           has_times=True, in_report=InReport("distribution")),
        "cost": ViewEntry("halftrip.views.cost:cost",
                          "CPU time and more that each row took at both ends.",
                          needs_flags="always", in_report=InReport("usage", "all")),
        "layers": ViewEntry("halftrip.views.layers:layers",
                            "What each layer adds to the transport below it.", has_times=True),
        "matrix": ViewEntry("halftrip.views.matrix:matrix",
                            "Each host with each other, and a summary by host.",
                            (ViewOption("sort", "by_slowness",
                                        "With --matrix: the slowest host first."),)),
        "flags": ViewEntry("halftrip.views.why:flags", "All that looks odd in each row.",
                           needs_flags="always"),
        # A system log has several tables for each host.
        "system-log": ViewEntry("halftrip.views.system_log:system_log",
                                "What every host's counters have counted.",
                                in_report=InReport("system-log", "tables", 200)),
    },
)  # fmt: skip

# Each makes plots.chart.Charts of plots.chart.Subjects, or raises UsageError, which says what these
# lack.
PLOTS: Entries[PlotEntry] = Entries(
    "halftrip.plots",
    PlotEntry,
    {
        "latency": PlotEntry("halftrip.plots.curves:latency", "curves"),
        "bandwidth": PlotEntry("halftrip.plots.curves:bandwidth", "curves"),
        # How many single messages go in a second, their latency says.
        "rate": PlotEntry("halftrip.plots.curves:rate", "curves", of_rates=True),
        "distribution": PlotEntry("halftrip.plots.distribution:distribution", "distribution"),
        "samples": PlotEntry("halftrip.plots.samples:samples", "distribution"),
        "usage": PlotEntry("halftrip.plots.usage:usage", "usage"),
        "system": PlotEntry("halftrip.plots.system:system", "system-log"),
        "pairs": PlotEntry("halftrip.plots.pairs:pairs", "curves"),
        "compare": PlotEntry("halftrip.plots.compare:compare", "changes"),
        "layers": PlotEntry("halftrip.plots.layers:layers", "curves"),
        "history": "halftrip.plots.history:history",
    },
)

# Each is a report.document.Format: a function of a document.
FORMATS = Registry(
    "halftrip.formats",
    {
        "table": "halftrip.views.details:table",
        "csv": "halftrip.views.details:csv",
        "json": "halftrip.views.details:json",
        "markdown": "halftrip.views.details:markdown",
        "latex": "halftrip.views.details:latex",
        "html": "halftrip.page.html:of_document",
        "nodes": "halftrip.views.nodes:render",
    },
)
