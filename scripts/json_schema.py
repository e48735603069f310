"""Prints docs/schema/halftrip-N.schema.json: what `halftrip show --format json` prints; make golden
writes it.

N is the version of the run file's format, with which the JSON changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from halftrip.analysis.figure import Figure
from halftrip.analysis.figures import FIGURES
from halftrip.analysis.setting_figures import CONFIGURATION, setting_figure
from halftrip.plan.settings import in_place
from halftrip.results.carrier import Carrier
from halftrip.results.device import Device, DeviceCopy, DeviceLatency
from halftrip.results.network_path import Connection
from halftrip.results.reading import FORMAT
from halftrip.results.reported import Source

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {"text": "string", "whole": "integer", "number": "number", "yes or no": "boolean"}

# The fields of records, by the name of their class.
_FIELDS: dict[str, dict[str, str]] = {
    "Source": {
        "record": "The kind of this record.",
        "tool": "The tool, by halftrip's name.",
        "file": "The name of the file that was imported.",
        "place": "The number of the line where the table begins.",
        "statistic": "What the time of a row is of the tool's exchanges.",
        "variant": "Names and values that tell its measurements from others.",
        "version": "The tool's version; null: not known.",
        "hosts": "The names of the hosts, by rank.",
        "date": "When it was measured, ISO 8601; null: not known.",
        "warm_up": "Exchanges before the first row; null: not known.",
        "facts": "What else the tool has said, as it was written, by name.",
        "listings": "Tables without measurements.",
    },
    "Listing": {
        "title": "The title of the table.",
        "columns": "The names of the columns.",
        "rows": "The cells as they were printed.",
    },
    "Carrier": {
        "record": "The kind of this record.",
        "transport": "The transport.",
        "rank": "The rank that says so.",
        "peer": "The rank at the other end.",
        "library": "The name, the version and the file of its library.",
        "ways": "What the library has chosen: a transport and a device, or a provider.",
        "extra": "The settings of the transport's own, by name.",
        "thread": "Number of the thread.",
        "launch": "Number of the launch.",
    },
    "Connection": {
        "record": "The kind of this record.",
        "transport": "The transport.",
        "rank": "The rank that says so.",
        "peer": "The rank at the other end.",
        "path": "The path as this rank's host knows it.",
        "thread": "Number of the thread.",
        "launch": "Number of the launch, from 0.",
    },
    "NetworkPath": {
        "protocol": "The protocol of the socket.",
        "family": "The family of the addresses.",
        "local": "The address of this end, without port.",
        "peer": "The address of the other end, without port.",
        "interface": "The interface over which packets leave; null: not known.",
        "gateway": "The address of the first hop; null: none, or not known.",
        "route_mtu": "The MTU that the route says, bytes; null: none.",
        "path_mtu": "The longest packet that goes in one piece, bytes; null: not known.",
        "send_buffer": "What may wait to be sent, bytes as the kernel counts; null: not known.",
        "receive_buffer": "What may wait to be received, kernel's bytes; null: not known.",
        "dscp": "The code point of packets, 0 to 63; null: not known.",
        "tcp": "The state of a TCP connection; null: none.",
        "congestion": "TCP's congestion control algorithm; null: no TCP, or not known.",
        "no_delay": "Whether TCP sends small segments at once; null: no TCP, or not known.",
    },
    "Interface": {
        "name": "The name of the interface.",
        "speed": "Its speed in one direction, bits per second; null: not known.",
        "mtu": "Its MTU, bytes; null: not known.",
        "driver": "The name of its driver; null: not known.",
        "kind": "The kernel's name for its kind; null: none.",
        "is_virtual": "Whether it has no device; null: not known.",
        "hardware": "The kernel's number for the link layer; null: not known.",
    },
    "TcpInfo": {
        "snd_mss": "Payload of a full segment to the peer, bytes; null: not known.",
        "rcv_mss": "Payload of a full segment from the peer, bytes; null: not known.",
        "advmss": "What the peer was told that it may send, bytes; null: not known.",
        "pmtu": "The MTU of the path, bytes; null: not known.",
        "rtt_us": "The smoothed round trip, microseconds; null: not known.",
        "rttvar_us": "The variation of the round trip, microseconds; null: not known.",
        "min_rtt_us": "The shortest round trip of late, microseconds; null: not known.",
        "snd_cwnd": "The congestion window, segments; null: not known.",
        "total_retrans": "Segments that were sent again; null: not known.",
        "reordering": "By how many places a segment may come late; null: not known.",
        "timestamps": "Whether segments have timestamps; null: not known.",
    },
    "Device": {
        "record": "The kind of this record.",
        "rank": "The rank that found it.",
        "memory": "How the plan names its memory.",
        "index": "Its number in the driver's order.",
        "name": "The name that the driver has for it.",
        "uuid": "Its UUID, as nvidia-smi writes it.",
        "pci": "Its PCI address, as the kernel writes it.",
        "cuda": "The version of CUDA that the driver has.",
        "memory_bytes": "Its memory, bytes.",
        "cache_bytes": "Its L2 cache, bytes.",
        "compute_mode": "Who may use it: default, exclusive process or prohibited.",
        "reaches": "The UUIDs of other devices whose memory it accesses directly.",
        "stand_in": "Whether the driver is one for tests: figures say nothing of a device.",
        "driver": "The version of the driver; null: not known.",
        "link_generation": "The PCI Express generation of its link; null: not known.",
        "link_generation_max": "The generation that it could have; null: not known.",
        "link_width": "The lanes of its link; null: not known.",
        "link_width_max": "The lanes that it could have; null: not known.",
        "numa_node": "The NUMA node that it is near; -1: the host has one; null: not known.",
        "power_limit": "Its power limit, W; null: not known.",
        "graphics_clock": "The highest clock of its processors, MHz; null: not known.",
        "memory_clock": "The highest clock of its memory, MHz; null: not known.",
        "ecc": "Whether ECC is on; null: not known.",
        "mig": "Whether MIG is on; null: not known.",
        "mps": "Whether processes share a context of it, by CUDA's MPS; null: not known.",
        "launch": "Number of the launch, from 0.",
    },
    "DeviceCopy": {
        "record": "The kind of this record.",
        "rank": "The rank that has measured it.",
        "memory": "How the plan names the device's memory.",
        "direction": "From where to where.",
        "host": "How memory of the host is kept: pageable or pinned; empty: none is part of it.",
        "size": "Bytes copied.",
        "ns": "Median time of one copy, begun and waited for, ns.",
        "peer": "The other device of a copy between two; empty: none.",
        "both_ways": "Whether as many bytes go back at the same time.",
    },
    "DeviceLatency": {
        "record": "The kind of this record.",
        "rank": "The rank that has measured it.",
        "memory": "How the plan names the device's memory.",
        "synchronize": "Median time of waiting for an idle stream, ns.",
        "kernel": "Median time of launching an empty kernel and waiting for it, ns; null: none.",
        "refused": "Why no kernel was launched; or empty.",
    },
}
_RECORDS = (Source, Carrier, Connection, Device, DeviceCopy, DeviceLatency)


def schema() -> dict[str, Any]:
    """The schema of a run; of several runs, it is that of each. Settings of the plug-ins that are
    installed are in it, too."""
    extra = _of_figures(map(setting_figure, in_place("extra")))
    _, records = msgspec.json.schema_components(_RECORDS, ref_template="#/$defs/{name}")
    return {
        "$schema": DIALECT,
        "$id": f"halftrip-{FORMAT}.schema.json",
        "title": "A run of halftrip",
        "description": "What halftrip show --format json and halftrip export --to json print of a "
        "run. Names of figures end in their unit; null stands for a figure that does not exist.",
        **_object(_run()),
        "$defs": {
            **{name: _described(name, record) for name, record in records.items()},
            "Configuration": _object(_of_figures(CONFIGURATION), extra),
            "Row": _object(_of_figures(FIGURES), extra),
        },
    }


def _run() -> dict[str, Any]:
    return {
        "halftrip": _text("The version of halftrip that measured it."),
        "started": _text("When it started, UTC, ISO 8601."),
        "plan": {
            "description": "What was asked for, by the keys of a plan: sizes in bytes, times in s.",
            "type": "object",
        },
        "sources": _list("Tables of other tools that were imported.", _ref("Source")),
        "ranks": _list(
            "Where each rank of the first launch ran.",
            _object(
                {
                    "rank": _whole("Number of the rank."),
                    "host": _text("Name of its host."),
                    "core": _whole("Number of its core; null: not pinned.", "null"),
                }
            ),
        ),
        "connections": _list("Paths between hosts, as each end knows them.", _ref("Connection")),
        "carriers": _list("What carries messages where a library chooses.", _ref("Carrier")),
        "losses": _list("What hosts have lost, by their own counters.", _losses()),
        "slow": _list("Hosts and links that are slow beside the others.", _slow()),
        "queues": _list("The queues between hosts that traffic beside messages implies.", _queue()),
        "expectations": _list("Who falls short of what was expected.", _shortfall()),
        "rows": _list("The figures of each configuration.", _ref("Row")),
        "copies": _list(
            "Times of a copy within a rank.",
            _object(
                {
                    "size_bytes": _whole("Bytes copied."),
                    "ns": _number("Median time of one copy, ns."),
                    "by_kernel": _value("boolean", "By process_vm_readv, else by a memcpy."),
                }
            ),
        ),
        "devices": _list("Devices whose memory the plan names.", _ref("Device")),
        "device_copies": _list("Times of copies of devices.", _ref("DeviceCopy")),
        "device_latencies": _list("Times of waiting for devices.", _ref("DeviceLatency")),
        "aggregates": _list("What pairs that talked at the same time transferred.", _aggregate()),
        "failed": _list(
            "Configurations that failed.",
            _object({"configuration": _ref("Configuration"), "reason": _text("Why it failed.")}),
        ),
        "failed_launches": _list(
            "Launches that could not begin or go on, where something is varied.",
            _object(
                {
                    "launch": _whole("Number of the launch, from 0."),
                    "variant": _text("What it had of what is varied."),
                    "reason": _text("Why it failed."),
                }
            ),
        ),
        "skipped": _list("What was not measured.", _skip()),
        "interrupted": _text("Why the run is not complete; null: it is.", "null"),
    }


def _losses() -> dict[str, Any]:
    interface = {
        "name": _text("Name of the interface."),
        "packets": _whole("Packets received and sent."),
        "dropped": _whole("Packets dropped."),
        "errors": _whole("Packets with errors."),
    }
    return _object(
        {
            "host": _text("Name of the host."),
            "interfaces": _list("Interfaces over which its ranks talked.", _object(interface)),
            "segments": _whole("TCP segments sent."),
            "resent": _whole("TCP segments of these that were sent again."),
            "no_room": _whole("Datagrams that found a full receive buffer."),
            "refused": _whole("Connections that found a full queue of a listener."),
            "softnet": _whole("Packets that found a full queue of a processor."),
        }
    )


def _slow() -> dict[str, Any]:
    return _object(
        {
            "transport": _text("The transport."),
            "pattern": _text("The pattern."),
            "size_bytes": _whole("Payload of a message, bytes; null: not known.", "null"),
            "variant": _text("With what, where something is varied; or empty."),
            "factor": _number("How many times the time of a usual one its messages take."),
            "low": _number("Lower end of the 95 % interval of the factor."),
            "high": _number("Upper end of the 95 % interval of the factor."),
            "links": _whole("How many links of it were measured."),
            "hosts": _list("The host, or the two hosts of a link.", {"type": "string"}),
        }
    )


def _queue() -> dict[str, Any]:
    sides = {"": "", "_low": "lower end of its 95 % interval, ", "_high": "upper end, "}
    whose = {"standing": "The median message", "full": "What full_by says"}
    figures = {
        f"{name}{side}_{unit}": _number(f"{who} waits for: {says}{unit}; null: not known.", "null")
        for name, who in whose.items()
        for unit in ("ns", "bytes")
        for side, says in sides.items()
    }
    return _object(
        {
            "transport": _text("The transport of the messages."),
            "background": _text("The traffic beside them."),
            "size_bytes": _whole("Payload of a message, bytes; null: not known.", "null"),
            "hosts": _list("The two hosts.", {"type": "string"}),
            "variant": _text("With what, where something is varied; or empty."),
            "full_by": _text(
                "p99, p90 or longest: which messages wait for the full queue.", "null"
            ),
            "sent_again_share": _number(
                "The share of the messages that were lost, sent again, and left out of these."
            ),
            **figures,
        }
    )


def _shortfall() -> dict[str, Any]:
    hosts = "The host, or the two hosts of a link."
    unit = "s, bytes per second or messages per second; null: not known."
    links = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    return _object(
        {
            "hosts": _list(hosts, {"type": "string"}),
            "transport": _text("The transport."),
            "pattern": _text("The pattern."),
            "size": _whole("Payload of a message, bytes."),
            "figure": _text("What falls short: latency, bandwidth or messages."),
            "value": _number(f"What was measured, {unit}", "null"),
            "expected": _number(f"What was expected, {unit}", "null"),
            "against": _text("What expects it: expect or baseline."),
            "links": {"description": "How many links fall short, and of how many.", **links},
            "is_sure": {
                "description": "Whether the near ends of the intervals fall short, too.",
                "type": "boolean",
            },
            "variant": _text("With what, where something is varied; or empty."),
            "state": _text("In which state of the machine, where rows go with it; or empty."),
        }
    )


def _aggregate() -> dict[str, Any]:
    return _object(
        {
            "configuration": _ref("Configuration"),
            "pairs": _list("The ranks of each pair: 0-1.", {"type": "string"}),
            "bandwidth_bytes_per_s": _number("Of all pairs together, bytes per second.", "null"),
            "messages_per_s": _number("Of all pairs together, messages per second.", "null"),
        }
    )


def _skip() -> dict[str, Any]:
    def some(said: str, items: Mapping[str, Any]) -> dict[str, Any]:
        return {"description": f"{said}; null: all.", "type": ["array", "null"], "items": items}

    ranks = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
    return _object(
        {
            "transport": _text("The transport."),
            "reason": _text("Why it was not measured."),
            "sizes_bytes": some("The sizes, bytes", {"type": "integer"}),
            "patterns": some("The patterns", {"type": "string"}),
            "modes": some("The modes", {"type": "string"}),
            "windows": some("The windows, messages in flight", {"type": "integer"}),
            "pairs": some("The pairs of ranks", ranks),
            "variant": _text("In launches with this, where something is varied; or empty."),
        }
    )


def _object(
    properties: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(said: str, items: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": said, "type": "array", "items": items}


def _value(kind: str, said: str, *others: str) -> dict[str, Any]:
    return {"description": said, "type": [kind, *others] if others else kind}


def _text(said: str, *others: str) -> dict[str, Any]:
    return _value("string", said, *others)


def _whole(said: str, *others: str) -> dict[str, Any]:
    return _value("integer", said, *others)


def _number(said: str, *others: str) -> dict[str, Any]:
    return _value("number", said, *others)


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _of_figures(figures: Iterable[Figure[Any]]) -> dict[str, Any]:
    return {
        each.name: _value(_TYPES[each.type], f"{each.says}.", *["null"] * each.optional)
        for each in figures
    }


def _described(name: str, record: dict[str, Any]) -> dict[str, Any]:
    """The schema of a record, with what its fields are, and without others."""
    said = _FIELDS[name]
    properties = {
        field: {"description": said[field], **found}
        for field, found in record["properties"].items()
    }
    # A docstring is for who reads the code.
    kept = {key: value for key, value in record.items() if key not in ("title", "description")}
    return {**kept, "properties": properties, "additionalProperties": False}


def text() -> str:
    """The schema, as the file has it."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    print(text(), end="")
