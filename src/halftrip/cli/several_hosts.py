"""The commands that run on other hosts than the one that plans: ``halftrip serve``, and the agent
that ``halftrip run --hosts`` starts."""

from __future__ import annotations

from typing import Annotated

import typer

Text = str | None


def serve(
    bind: Annotated[
        Text, typer.Option("--bind", metavar="ADDRESS", help="Listen at this address. [all]")
    ] = None,
    port: Annotated[
        Text, typer.Option("--port", metavar="N", help="Listen on this port. [5201]")
    ] = None,
    data_ports: Annotated[
        Text,
        typer.Option("--data-ports", metavar="FIRST-LAST", help="For measuring. [5202-5299]"),
    ] = None,
    secret_file: Annotated[
        Text, typer.Option("--secret-file", metavar="FILE", help="The secret. [a new one, printed]")
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Serve everybody who can connect, without a secret.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="End after one client.")] = False,
    max_clients: Annotated[
        Text, typer.Option("--max-clients", metavar="N", help="At the same time. [1]")
    ] = None,
    max_time: Annotated[
        Text, typer.Option("--max-time", metavar="TIME", help="For each client. [10min]")
    ] = None,
    max_memory: Annotated[
        Text,
        typer.Option(
            "--max-memory", metavar="SIZE", help="For each client. [half of what is free]"
        ),
    ] = None,
) -> None:
    """Take part in halftrip run --peer of other hosts, until an interrupt."""
    from halftrip.cli.serve import Serving, serve_clients

    given = Serving(
        bind, port, data_ports, secret_file, open_, once, max_clients, max_time, max_memory
    )
    serve_clients(given)


def agent() -> None:
    """Start ranks on this host, for a launcher on another one that writes to the standard input."""
    from halftrip.job.agent import main as start_ranks

    raise typer.Exit(start_ranks())


def add_to(app: typer.Typer) -> None:
    """Adds the commands to the command line."""
    app.command()(serve)
    app.command(hidden=True)(agent)
