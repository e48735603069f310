"""``halftrip doctor``: what on this machine will spoil the numbers."""

from __future__ import annotations

from typing import Annotated

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import ViewFormat, put_view, view_format
from halftrip.errors import UsageError
from halftrip.plan.parsing import seconds


@app.command("doctor")
def doctor(
    format_: ViewFormat = "table",
    json: Annotated[bool, syntax.Option("-j", "--json", help="As --format json.")] = False,
    load: Annotated[
        Text,
        syntax.Option(
            "--load", metavar="TIME", help="Look for so long at who has the cores. [0.2s]"
        ),
    ] = None,
    loops: Annotated[
        bool,
        syntax.Option(
            "--loops", help="Instead, compare halftrip with loops written by hand; half a minute."
        ),
    ] = False,
    transport: Annotated[
        Text,
        syntax.Option("-t", "--transport", metavar="NAMES", help="With --loops: only over these."),
    ] = None,
    hosts: Annotated[
        Text,
        syntax.Option(
            "--hosts", metavar="HERE,OTHER", help="With --loops: between this host and another."
        ),
    ] = None,
    ssh: Annotated[
        Text,
        syntax.Option("--ssh", metavar="COMMAND", help="With --hosts: what reaches the other."),
    ] = None,
) -> int:
    """Say what on this machine will spoil the numbers; exit with 1 if anything will."""
    format_ = view_format(format_, json)
    if loops and load is not None:
        raise UsageError("--load: not with --loops")
    if ssh is not None and hosts is None:
        raise UsageError("--ssh: goes with --hosts")
    if loops:
        from halftrip.cli.doctor_loops import examine_loops

        return examine_loops(transport, format_, hosts, ssh)
    for name, value in (("-t", transport), ("--hosts", hosts)):
        if value is not None:
            raise UsageError(f"{name}: goes with --loops")
    from halftrip.job import left_behind
    from halftrip.telemetry import doctor as machine
    from halftrip.telemetry import (
        doctor_devices,
        doctor_libfabric,
        doctor_mpi,
        doctor_single_copy,
        doctor_sleep,
        doctor_ucx,
    )
    from halftrip.telemetry.load import LOOK_SECONDS
    from halftrip.views.doctor import doctor as view

    looked = inputs.given("--load", seconds, load) or LOOK_SECONDS
    # First the load: the ranks of the check of MPI would be part of it.
    checks = [
        machine.load(seconds=looked),
        *machine.machine_checks(),
        left_behind.check(),
        doctor_single_copy.check(),
        *doctor_sleep.checks(),
        doctor_devices.check(),
        doctor_libfabric.check(),
        doctor_mpi.check(),
        doctor_ucx.check(),
    ]
    put_view(view(checks), format_)
    return int(any(check.state == "warning" for check in checks))
