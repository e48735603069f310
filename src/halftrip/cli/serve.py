"""``halftrip serve``: starts ranks for who measures with this host."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from halftrip.cli.output import writing
from halftrip.control.network import Network
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.job.server import Limits, Server
from halftrip.job.signals import catching, interrupt
from halftrip.job.visit import (
    DEFAULT_DATA_PORTS,
    OPEN,
    SECRET_VARIABLE,
    given_secret,
    new_secret,
)
from halftrip.plan import parsing
from halftrip.plan.hosts import DEFAULT_PORT
from halftrip.telemetry.memory import available_memory
from halftrip.units import parse_size

_DEFAULT_SECONDS = 600.0
_MOST_CLIENTS = 64
_LAST_PORT = (1 << 16) - 1
# Less is of no use to anybody, bytes.
_LEAST_MEMORY = 1 << 20


class Serving(NamedTuple):
    """The options, as they were given."""

    bind: str | None
    port: str | None
    data_ports: str | None
    secret_file: str | None
    is_open: bool
    once: bool
    max_clients: str | None
    max_time: str | None
    max_memory: str | None


def serve_clients(serving: Serving) -> None:
    """Serves until a signal ends it, which is raised as Interrupted, or one client has been served
    with `once`. Raises UsageError, and HalftripError if it cannot listen."""
    given = given_secret(serving.secret_file)
    if serving.is_open and given is not None:
        raise UsageError("--open: with a secret it is not open; leave one of them out")
    secret = OPEN if serving.is_open else given or new_secret()
    port = _read("port", parsing.at_most(_LAST_PORT), serving.port, DEFAULT_PORT)
    data_ports = _read("data-ports", parsing.ports, serving.data_ports, DEFAULT_DATA_PORTS)
    limits = Limits(
        clients=_read("max-clients", parsing.at_most(_MOST_CLIENTS), serving.max_clients, 1),
        seconds=_read("max-time", parsing.seconds, serving.max_time, _DEFAULT_SECONDS),
        memory=_read("max-memory", _memory, serving.max_memory, available_memory() // 2),
        threads=max(2, len(os.sched_getaffinity(0))),
    )
    with catching(interrupt):
        try:
            server = Server(secret, Network(serving.bind, (port, port)), data_ports, limits, _say)
        except UsageError as error:
            raise UsageError(str(error).replace("--interface", "--bind", 1)) from None
        except OSError as error:
            raise HalftripError(f"port {port}: {system_reason(error).lower()}") from None
        where = ", ".join(_with_port(address, port) for address in server.address.hosts)
        _say(f"serving at {where}; data ports {data_ports[0]} to {data_ports[1]}")
        _say(
            f"for each client: {limits.seconds:g} s, {limits.memory / 1e9:.1f} GB, "
            f"{limits.threads} threads; at a time: {limits.clients}"
        )
        if given is None and not serving.is_open:
            _say(f"secret: {secret}  (run --peer asks for it, or takes it from {SECRET_VARIABLE})")
        server.serve(serving.once)


def _memory(text: str) -> int:
    size = parse_size(text)
    if size < _LEAST_MEMORY:
        raise UsageError(f"{text!r} is too little; at least 1M")
    return size


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _read(name: str, parse: Callable[[Any], Any], text: str | None, default: Any) -> Any:
    if text is None:
        return default
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"--{name}: {error}") from None


def _say(line: str) -> None:
    with writing():
        print(line, flush=True)
