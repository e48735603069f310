"""``halftrip serve``: starts ranks for who measures with this host."""

from __future__ import annotations

import ipaddress
import os
from typing import Annotated

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import writing
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.plan import parsing
from halftrip.plan.hosts import DEFAULT_PORT, with_port
from halftrip.texts import printable
from halftrip.units import parse_size

_DEFAULT_SECONDS = 600.0
_MOST_CLIENTS = 64
_LAST_PORT = (1 << 16) - 1
# Less is of no use to anybody, bytes.
_LEAST_MEMORY = 1 << 20


@app.command("serve")
def serve(
    bind: Annotated[
        Text, syntax.Option("--bind", metavar="ADDRESS", help="Listen at this address. [all]")
    ] = None,
    port: Annotated[
        Text, syntax.Option("--port", metavar="N", help="Listen on this port. [5201]")
    ] = None,
    data_ports: Annotated[
        Text,
        syntax.Option("--data-ports", metavar="FIRST-LAST", help="For measuring. [5202-5299]"),
    ] = None,
    secret_file: Annotated[
        Text,
        syntax.Option("--secret-file", metavar="FILE", help="The secret. [a new one, printed]"),
    ] = None,
    open_: Annotated[
        bool, syntax.Option("--open", help="Serve everybody who can connect, without a secret.")
    ] = False,
    reached_at: Annotated[
        Text,
        syntax.Option(
            "--reached-at",
            metavar="ADDRESS",
            help="Where clients call, if it is translated to --bind.",
        ),
    ] = None,
    libraries: Annotated[
        bool,
        syntax.Option(
            "--libraries", help="Have ucx and libfabric for clients, too (docs/security.md)."
        ),
    ] = False,
    once: Annotated[bool, syntax.Option("--once", help="End after one client.")] = False,
    max_clients: Annotated[
        Text, syntax.Option("--max-clients", metavar="N", help="At the same time. [1]")
    ] = None,
    max_time: Annotated[
        Text, syntax.Option("--max-time", metavar="TIME", help="For each client. [10min]")
    ] = None,
    max_memory: Annotated[
        Text,
        syntax.Option(
            "--max-memory", metavar="SIZE", help="For each client. [half of what is free]"
        ),
    ] = None,
) -> None:
    """Take part in halftrip run --peer of other hosts, until an interrupt."""
    from halftrip.control import sealing
    from halftrip.control.network import Network
    from halftrip.job import session
    from halftrip.job.server import Limits, Server
    from halftrip.job.signals import catching, interrupt
    from halftrip.telemetry.memory import available_memory

    known = session.served_secret(secret_file)
    if open_ and known is not None:
        raise UsageError("--open: with a secret it is not open; leave one of them out")
    if open_ and libraries:
        raise UsageError("--open: with --libraries clients have a secret; leave one of them out")
    secret = session.OPEN if open_ else known or session.new_secret()
    # None of these can be 0.
    listening = inputs.given("--port", parsing.at_most(_LAST_PORT), port) or DEFAULT_PORT
    ports = inputs.given("--data-ports", parsing.ports, data_ports) or session.DEFAULT_DATA_PORTS
    limits = Limits(
        clients=inputs.given("--max-clients", parsing.at_most(_MOST_CLIENTS), max_clients) or 1,
        seconds=inputs.given("--max-time", parsing.seconds, max_time) or _DEFAULT_SECONDS,
        memory=inputs.given("--max-memory", _memory, max_memory) or available_memory() // 2,
        threads=max(2, len(os.sched_getaffinity(0))),
        libraries=libraries,
    )
    called = inputs.given("--reached-at", _address, reached_at)
    with catching(interrupt):
        try:
            network = Network(bind, (listening, listening), (called,) if called else ())
            server = Server(secret, network, ports, limits, _say)
        except UsageError as error:
            raise UsageError(str(error).replace("--interface", "--bind", 1)) from None
        except OSError as error:
            raise HalftripError(f"port {listening}: {system_reason(error).lower()}") from None
        where = ", ".join(with_port(address, listening) for address in server.address.hosts)
        _say(f"serving at {where}; data ports {ports[0]} to {ports[1]}")
        _say(
            f"for each client: {limits.seconds:g} s, {limits.memory / 1e9:.1f} GB, "
            f"{limits.threads} threads; at a time: {limits.clients}"
        )
        if open_:
            _say(
                "open: whoever reaches these ports can run measurements here, within these limits, "
                "read which kernel, processor and network this host has, and take part in the runs "
                "of others"
            )
        elif known is None:
            variable = session.SECRET_VARIABLE
            _say(f"secret: {secret}  (run --peer asks for it, or takes it from {variable})")
        sealing.prepare()
        server.serve(once)


def _memory(text: str) -> int:
    size = parse_size(text)
    if size < _LEAST_MEMORY:
        raise UsageError(f"{text!r} is too little; at least 1M")
    return size


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise UsageError(f"'{printable(text, 60)}' is no IP address") from None


def _say(line: str) -> None:
    with writing():
        print(line, flush=True)
