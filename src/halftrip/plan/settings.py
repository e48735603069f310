"""The settings of a configuration, each once: all that options, plans, the expansion of a plan,
refusals, the order of rows, names, tables and files have of them is made of this table.

A new setting is an entry here; what the endpoint of a transport does with it is the transport's.
It is `extra`, as those of plug-ins, or a field of `Plan` and of `Configuration`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast, get_args

import msgspec

from halftrip.errors import UsageError
from halftrip.plan import background, memory, parsing
from halftrip.plan.setting import (
    Kind,
    Place,
    Point,
    Setting,
    asked_or_own,
    delays,
    of_extra,
    of_sockets,
    of_transport,
    places,
    stagings,
    windows,
)
from halftrip.registry import EXTRA_SETTINGS, MEMORIES
from halftrip.results.configuration import (
    NO_BACKGROUND,
    UNKNOWN,
    UNTUNED,
    Buffers,
    Cache,
    Datatype,
    DeviceCopy,
    Object,
    Ownership,
    Pages,
    Places,
    Socket,
    Touch,
    Wait,
)
from halftrip.results.patterns import SHAPES, STREAM
from halftrip.texts import printable
from halftrip.units import format_size


def _requested(setting: Any) -> tuple[str, ...]:
    """The values of a setting that can be asked for."""
    return tuple(value for value in get_args(setting) if value != UNKNOWN)


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


# Their names, where they have one.
_CODE_POINTS = {number: name for name, number in parsing.CODE_POINTS.items()}


def _socket(
    name: str,
    read: Callable[[Any], Any],
    said: str,
    write: Callable[[Any], str] = str,
    usual: str = "system",
    **others: Any,
) -> Setting:
    """A setting of sockets, whose standard is called `usual`."""
    return Setting(
        name, read, said, place="sockets", values=of_sockets, standard=getattr(UNTUNED, name),
        write=write, usual=usual, **others,
    )  # fmt: skip


def _of_ucx_messages(point: Point) -> tuple[str | None, ...]:
    """Put and get are none of them."""
    return (None,) if point.chosen["mode"] == "onesided" else of_extra(point)


# Patterns of windows that have a single message unless more are asked for.
_SINGLE = [name for name, shape in SHAPES.items() if shape.window == 1]

# In the order of options, of a plan's keys, and of rows.
_TABLE = (
    Setting("window", parsing.windows,
            f"Messages in flight. [{SHAPES[STREAM].window}; 1 for {', '.join(_SINGLE)}]", ("-W",),
            group="what", values=windows, usual="1", kind="whole", placeholder="N",
            applies=lambda configuration: configuration.shape.window is not None,
            says="Messages in flight"),
    Setting("places", parsing.some_of(_requested(Places)),
            "Where the messages of a window are: each in its own place, or in the same. [own]",
            values=places, usual="own", is_of_buffers=True, attribute="message_places",
            applies=lambda configuration: configuration.has_window,
            says="Whether each message of a window has memory of its own: own or same"),
    Setting("touch", parsing.some_of(get_args(Touch)),
            "Does the peer read what is put, write what is got? none, untimed, timed. [none]",
            usual="none", says="Whether the target of one-sided calls reads or writes its memory "
            "between windows"),
    Setting("delay", parsing.several(parsing.nanoseconds),
            "How long the initiator computes between a ping-pong's send and receive, or a stream's "
            "sends: 0,50us. [0]", values=delays, write=lambda ns: f"{ns / 1e3:g} us", usual="0 us",
            unit="ns", kind="whole", placeholder="TIME",
            says="How long the initiator computes between its calls, ns"),
    Setting("wait", parsing.per_end(_requested(Wait)),
            "How a receiver waits: block, spin or both; or INITIATOR:RESPONDER. "
            "[as usual for each]", group="what", place="ends", values=asked_or_own,
            says="How an end waits for a message; initiator:responder where both differ"),
    Setting("buffers", parsing.some_of(_requested(Buffers)),
            "Receive into the buffer sent from? same, separate. [separate]", default="separate",
            is_of_buffers=True,
            says="Whether an end receives into the buffer that it sends from: same or separate"),
    Setting("memory", parsing.NamesReader(MEMORIES, memory.memories),
            "Memory of both ends, or INITIATOR:RESPONDER: host, pinned, cuda@0, managed. [host]",
            group="what", place="ends", default="host", is_of_buffers=True, before_size=False,
            served="refused",
            says="The kind of memory of the buffers; initiator:responder where both differ"),
    Setting("pages", parsing.per_end(_requested(Pages)),
            "Page size of buffers: 4K, huge; or INITIATOR:RESPONDER. [4K]", place="ends",
            default="4K", is_of_buffers=True,
            says="Page size of the buffers; initiator:responder where both differ"),
    Setting("cache", parsing.some_of(_requested(Cache)),
            "One buffer, or a ring larger than the cache: hot, cold. [hot]", group="what",
            default="hot", is_of_buffers=True,
            says="hot: the same buffer again; cold: a ring larger than the last-level cache"),
    Setting("align", parsing.alignments,
            "Align buffers to exactly this many bytes: 1, 2, 4 ... [a page]",
            write=lambda count: str(count) if count else "page", usual="page", is_of_buffers=True,
            unit="bytes", kind="whole",
            placeholder="BYTES",
            says="How many bytes after an aligned address buffers start; 0: at a page, bytes"),
    Setting("datatype", parsing.some_of(get_args(Datatype)),
            "What MPI is told: byte, contiguous, vector. [byte]", standard="byte", usual="byte",
            says="What MPI is told that a message is made of"),
    Setting("object", parsing.some_of(get_args(Object)),
            "What Python sends: buffer, bytes, array, dict. [the first that a transport has]",
            place="transport", values=of_transport, standard="buffer", usual="buffer",
            says="What a Python program sends: a buffer, or an object that is pickled"),
    Setting("socket", parsing.some_of(get_args(Socket)),
            "Type of ZeroMQ sockets: pair, req (with rep). [pair]", place="transport",
            values=of_transport, kind="text?", says="The type of ZeroMQ socket"),
    Setting("ownership", parsing.some_of(get_args(Ownership)),
            "Who has a Dragon message's memory after a send: keep, transfer. [keep]",
            place="transport", values=of_transport, kind="text?",
            says="Whether a Dragon sender keeps the memory of a message"),
    Setting("staging", memory.stagings,
            "Messages in a device's memory: none, whole or chunk=512K, by way of pinned memory. "
            "[none where the transport takes them]", values=stagings,
            write=lambda chunk: f"chunks of {format_size(chunk)}" if chunk else "whole",
            is_of_buffers=True, unit="bytes", kind="whole?",
            says="Chunks by way of page-locked memory, bytes; 0: whole; none: not staged"),
    Setting("device_copy", parsing.some_of(get_args(DeviceCopy)),
            "Who copies between devices in cuda-ipc: driver (its choice), engine. [driver]",
            place="transport", values=of_transport, usual="driver", kind="text?",
            says="Who copies between devices: driver (its choice) or engine"),
    Setting("ucx_api", parsing.some_of(("tag", "am", "stream")),
            "How UCX sends messages: tag, am (active messages), stream. [tag]", place="extra",
            values=_of_ucx_messages, heading="UCX API", usual="tag", kind="text?",
            says="Which of UCX's interfaces sends messages: tag, am or stream"),
    Setting("ucx_tls", parsing.several(parsing.text),
            "What UCX may use, as UCX_TLS says, in one row with +: tcp,posix+cma. [all]",
            place="extra", values=of_extra, heading="UCX_TLS", kind="text?",
            says="The transports that UCX may use, with + between them"),
    Setting("ucx_device", parsing.several(parsing.text),
            "Which devices UCX may use, in one row with +: eth0,mlx5_0:1+mlx5_1:1. [all]",
            place="extra", values=of_extra, heading="UCX device", kind="text?",
            says="The network devices that UCX may use, with + between them"),
    Setting("provider", parsing.several(parsing.text),
            "Providers of libfabric: shm, 'tcp;ofi_rxm', verbs. [shm, else the library's choice]",
            place="extra", values=of_extra, kind="text?",
            says="The provider of libfabric"),
    Setting("libfabric_library", parsing.several(parsing.text),
            "Files with libfabric, of which there may be several. [the system's]",
            place="extra", values=of_extra, placeholder="FILE", kind="text?", served="refused",
            says="The file with libfabric"),
    _socket("socket_buffer", parsing.several(parsing.socket_buffer),
            "Room in a socket of tcp, udp, unix, each way: 64K, 4M, system. [system]", format_size,
            unit="bytes", kind="whole?",
            placeholder="SIZE", says="What a socket may hold in each direction, bytes; 0: not set"),
    _socket("nodelay", parsing.flags,
            "Send small TCP messages at once, or by Nagle's algorithm; both forms: two rows. [yes]",
            _yes_or_no, "yes", negatable=True, kind="yes or no?",
            says="Whether TCP sends small segments at once"),
    _socket("congestion", parsing.several(parsing.algorithm),
            "TCP's congestion control: cubic, reno, bbr, what the kernel has. [system]",
            kind="text?", says="TCP's congestion control algorithm"),
    _socket("mss", parsing.several(parsing.segment),
            "Largest TCP segment, with its options. [system]", unit="bytes",
            kind="whole?", placeholder="BYTES",
            says="Largest TCP segment, bytes; 0: that of the path"),
    _socket("dscp", parsing.several(parsing.code_point),
            "Code point of tcp and udp packets: 0 to 63, EF, CS1, AF11 and so on. [0]",
            lambda number: _CODE_POINTS.get(number, str(number)), "0", kind="whole?",
            placeholder="N", says="Code point in the header of each packet"),
    # In CSV, `busy_poll` is how much of its time an end polled.
    _socket("busy_poll", parsing.several(parsing.microseconds),
            "How long tcp and udp calls poll the device first, as 50us. [system]",
            lambda us: f"{us} us", heading="socket busy poll", column="socket_busy_poll", unit="us",
            kind="whole?", placeholder="TIME",
            says="For how long a call polls the device's queue, microseconds"),
    _socket("streams", parsing.several(parsing.at_most(64)),
            "TCP connections that a thread uses in turn, message by message. [1]", usual="1",
            kind="whole?", placeholder="N", says="TCP connections that one thread uses in turn"),
    _socket("zerocopy", parsing.flags,
            "Send TCP messages from where they are: MSG_ZEROCOPY; both forms: two rows. [no]",
            _yes_or_no, "no", negatable=True, kind="yes or no?",
            says="Whether the kernel sends without a copy: MSG_ZEROCOPY"),
    Setting("rate", parsing.rate, "What a udp stream offers, bytes per second. [all it can]",
            several=False, write=lambda rate: f"{rate / 1e6:g} MB/s", no_value="all it can",
            usual="all it can", before_size=False, unit="bytes_per_s", kind="number?",
            placeholder="BYTES",
            says="What a sender offers, bytes per second; none: as much as it can"),
    Setting("verify", parsing.flag, "Check every byte, outside the timed loops.", group="what",
            several=False, heading="verified", write=_yes_or_no, usual="no", before_size=False,
            kind="yes or no", says="Whether messages are filled and checked"),
    Setting("background", parsing.several(background.read),
            "Traffic between the same ranks meanwhile: none, stream, bidirectional, stream*4, or "
            "PATTERN*FLOWS:TRANSPORT:SIZE:RATE. [none]", group="what",
            values=background.backgrounds, usual=NO_BACKGROUND, before_size=False,
            served="refused", placeholder="LIST",
            says="Traffic beside what is timed: pattern, flows, transport, size, rate; or none"),
)  # fmt: skip

# Those that are fields, and of these the ones that may have several values in a plan.
WITH_FIELDS = {setting.name: setting for setting in _TABLE if setting.place != "extra"}
SEVERAL = tuple(name for name, setting in WITH_FIELDS.items() if setting.several)
_BUILT_IN = {setting.name: setting for setting in _TABLE}


def _of_plug_in(name: str) -> Setting:
    """The setting that a plug-in brings. Raises UsageError for what is none."""
    found = EXTRA_SETTINGS.load(name)
    is_new = name.isidentifier() and name.islower() and name not in _BUILT_IN
    if not isinstance(found, Setting) or found.name != name or not is_new:
        said = "no Setting of this name, or the name is one of halftrip's own"
        raise UsageError(f"{EXTRA_SETTINGS.group} {name!r}: {said}")
    kind = cast("Kind", f"{found.kind.removesuffix('?')}?")
    return msgspec.structs.replace(found, place="extra", values=of_extra, kind=kind)


SETTINGS: Mapping[str, Setting] = {
    **_BUILT_IN,
    **{name: _of_plug_in(name) for name in EXTRA_SETTINGS},
}


def extra_setting(name: str) -> Setting:
    """A setting that is no field; of a plug-in that is not installed here, its name alone, which
    comes from a run file."""
    if name in SETTINGS:
        return SETTINGS[name]
    shown = printable(name)
    return Setting(
        name, parsing.text, "", place="extra", heading=shown, column=shown, kind="text?",
        says="Of a plug-in",
    )  # fmt: skip


def in_place(*places: Place) -> list[Setting]:
    """The settings in these places."""
    return [setting for setting in SETTINGS.values() if setting.place in places]


def ordered(names: Iterable[str]) -> list[Setting]:
    """All settings: those with these names first."""
    return [SETTINGS[name] for name in dict.fromkeys((*names, *SETTINGS))]
