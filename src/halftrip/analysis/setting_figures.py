"""The settings of a configuration as figures, for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halftrip.analysis.figure import Figure, fields
from halftrip.results.configuration import TUNABLE, UNTUNED, Configuration, TuningField
from halftrip.results.reported import Variant


def variant_text(variant: Variant) -> str:
    """A variant in one text: ``env.UCX_TLS tcp, mpiexec mpiexec.mpich``."""
    return ", ".join(f"{name} {value}" for name, value in variant)


def _tuning(name: TuningField) -> Callable[[Configuration], int | bool | str | None]:
    """A setting of sockets; None where the transport has no such one."""

    def of(configuration: Configuration) -> int | bool | str | None:
        value: int | bool | str = getattr(configuration.tuning, name)
        has_it = name in TUNABLE.get(configuration.transport, ())
        return value if has_it or value != getattr(UNTUNED, name) else None

    return of


CONFIGURATION: tuple[Figure[Configuration], ...] = (
    Figure("transport", "text", lambda of: of.transport,
           "How bytes move: mpi, shm, tcp and so on"),
    Figure("pattern", "text", lambda of: of.pattern,
           "Who sends when: pingpong, stream, bidirectional and so on"),
    Figure("mode", "text", lambda of: of.mode,
           "The kind of call: blocking, nonblocking, persistent, ssend or onesided"),
    Figure("size_bytes", "whole?", lambda of: of.known_size,
           "Payload of a message, bytes; none: an imported tool does not say"),
    Figure("memory", "text", lambda of: of.both_ends("memory"),
           "The kind of memory of the buffers; initiator:responder where both differ"),
    Figure("buffers", "text", lambda of: of.buffers,
           "Whether an end receives into the buffer that it sends from: same or separate"),
    Figure("pages", "text", lambda of: of.both_ends("pages"),
           "Page size of the buffers; initiator:responder where both differ"),
    Figure("cache", "text", lambda of: of.cache,
           "hot: the same buffer again; cold: a ring larger than the last-level cache"),
    Figure("wait", "text", lambda of: of.both_ends("wait"),
           "How an end waits for a message; initiator:responder where both differ"),
    Figure("pair", "text", lambda of: "-".join(map(str, of.pair)),
           "The ranks that talk, initiator first: 0-1"),
    Figure("window", "whole", lambda of: of.window, "Messages in flight"),
    Figure("align_bytes", "whole", lambda of: of.align,
           "How many bytes after an aligned address buffers start; 0: at a page, bytes"),
    Figure("datatype", "text", lambda of: of.datatype,
           "What MPI is told that a message is made of"),
    Figure("rate_bytes_per_s", "number?", lambda of: of.rate,
           "What a sender offers, bytes per second; none: as much as it can"),
    Figure("verify", "yes or no", lambda of: of.verify, "Whether messages are filled and checked"),
    Figure("thread", "whole", lambda of: of.thread, "Number of the thread of each rank"),
    Figure("concurrency", "whole", lambda of: of.concurrency,
           "How many pairs of threads talk at the same time"),
    Figure("places", "text", lambda of: of.message_places,
           "Whether each message of a window has memory of its own: own or same"),
    Figure("touch", "text", lambda of: of.touch,
           "Whether the target of one-sided calls reads or writes its memory between windows"),
    Figure("delay_ns", "whole", lambda of: of.delay,
           "How long the initiator computes between its calls, ns"),
    Figure("object", "text", lambda of: of.object,
           "What a Python program sends: a buffer, or an object that is pickled"),
    Figure("socket", "text?", lambda of: of.socket, "The type of ZeroMQ socket"),
    Figure("ownership", "text?", lambda of: of.ownership,
           "Whether a Dragon sender keeps the memory of a message"),
    Figure("staging_bytes", "whole?", lambda of: of.staging,
           "Chunks by way of page-locked memory, bytes; 0: whole; none: not staged"),
    Figure("device_copy", "text?", lambda of: of.device_copy,
           "Who copies between devices: driver (its choice) or engine"),
    Figure("socket_buffer_bytes", "whole?", _tuning("socket_buffer"),
           "What a socket may hold in each direction, bytes; 0: not set"),
    Figure("nodelay", "yes or no?", _tuning("nodelay"),
           "Whether TCP sends small segments at once"),
    Figure("congestion", "text?", _tuning("congestion"), "TCP's congestion control algorithm"),
    Figure("mss_bytes", "whole?", _tuning("mss"),
           "Largest TCP segment, bytes; 0: that of the path"),
    Figure("dscp", "whole?", _tuning("dscp"), "Code point in the header of each packet"),
    Figure("socket_busy_poll_us", "whole?", _tuning("busy_poll"),
           "For how long a call polls the device's queue, microseconds"),
    Figure("streams", "whole?", _tuning("streams"), "TCP connections that one thread uses in turn"),
    Figure("zerocopy", "yes or no?", _tuning("zerocopy"),
           "Whether the kernel sends without a copy: MSG_ZEROCOPY"),
    Figure("variant", "text", lambda of: variant_text(of.variant),
           "What else tells it from others: what is varied, the table of a text; or empty"),
)  # fmt: skip


def configuration_fields(configuration: Configuration) -> dict[str, Any]:
    """The settings of a configuration by name. Those of both ends are texts such as ``spin``, or
    ``spin:block``."""
    return fields(CONFIGURATION, configuration)


def curve_fields(curve: Configuration) -> dict[str, Any]:
    """The settings of a curve, which has no size."""
    return fields([each for each in CONFIGURATION if each.name != "size_bytes"], curve)
