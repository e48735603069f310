"""What a run was asked to measure, on what, and how to measure it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from halftrip.analysis.core_map import cores_of
from halftrip.analysis.environments import facts
from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, python_layer
from halftrip.plan.plan import plan_text
from halftrip.render.blocks import Block, Code, Legend, Paragraph, text_table
from halftrip.report.document import Document
from halftrip.report.numbers import NOTHING
from halftrip.results.reported import Source
from halftrip.results.run import Run
from halftrip.texts import printable
from halftrip.units import significant, size_in_words
from halftrip.views.side_by_side import letters

# Of more names than these, the rest is counted.
_MOST_NAMED = 6


def counted(count: int, what: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def named(names: Iterable[str]) -> str:
    """``shm, tcp and udp``; of many the first."""
    different = list(dict.fromkeys(names))
    if len(different) > _MOST_NAMED + 1:
        return f"{', '.join(different[:_MOST_NAMED])} and {len(different) - _MOST_NAMED} more"
    if len(different) < 2:
        return "".join(different)
    return f"{', '.join(different[:-1])} and {different[-1]}"


def asked(document: Document) -> list[str]:
    """What was measured, in sentences."""
    run = document.run
    if run.sources:
        said = [_imported(run.sources), _what(document, "It has")]
    else:
        said = [_what(document, "Asked for"), _where(document), _how_long(run)]
    if run.interrupted is not None:
        said.append(f"The run is not complete: {run.interrupted}.")
    return [*filter(None, said)]


def _imported(sources: Sequence[Source]) -> str:
    first = sources[0]
    version = f" {first.version}" if first.version else ""
    when = f", measured {first.date}" if first.date else ""
    hosts = f", on {named(first.hosts)}" if first.hosts else ""
    tables = f" ({len(sources)} tables)" if len(sources) > 1 else ""
    return f"Imported from {first.file}, printed by {first.tool}{version}{tables}{hosts}{when}."


def _what(document: Document, begins: str) -> str:
    """The transports, patterns and sizes: those that were measured, or those of the plan."""
    configurations = [row.configuration for row in document.rows]
    plan = document.run.header.plan
    transports = named(each.transport for each in configurations) or _of_plan(plan, "transport")
    patterns = named(each.pattern for each in configurations) or _of_plan(plan, "pattern")
    said = [f"{begins} {patterns or 'nothing'}" + (f" over {transports}" if transports else "")]
    sizes = sorted({each.size for each in configurations if each.size_known})
    if sizes:
        ends = " to ".join(dict.fromkeys(size_in_words(each) for each in (sizes[0], sizes[-1])))
        said.append(f"{counted(len(sizes), 'size')}, {ends}" if len(sizes) > 1 else f"of {ends}")
    pairs = {frozenset(each.pair) for each in configurations}
    if len(pairs) > 1:
        of = "hosts" if document.run.names.are_hosts else "ranks"
        of = "cores" if cores_of(document.run) else of
        said.append(f"{counted(len(pairs), 'pair')} of {of}")
    return ", ".join(said) + "."


def _of_plan(plan: dict[str, Any], key: str) -> str:
    value = plan.get(key)
    return named(map(str, value)) if isinstance(value, list) else ""


def _where(document: Document) -> str:
    configurations = [row.configuration for row in document.rows]
    if configurations and all(each.is_simulated for each in configurations):
        return "It is simulated: times are computed from a model of the path, in virtual time."
    ranks = document.run.first_ranks
    if not ranks:
        return ""
    hosts = named(each.host for each in ranks)
    processors = named(
        f"{each.processor}{' (virtual machine)' if each.hypervisor else ''}" for each in ranks
    )
    return f"{counted(len(ranks), 'rank')} on {hosts}: {processors}."


def _how_long(run: Run) -> str:
    """How much each configuration was measured, and when."""
    plan = run.header.plan
    said = []
    launches = len({each.launch for each in run.measurements})
    if launches:
        slices = plan.get("slices")
        exact = plan.get("iterations")
        each = f"{exact:,} exchanges" if isinstance(exact, int) else _at_most(plan)
        parts = [each]
        if isinstance(slices, int):
            parts.append(f"dealt over {counted(slices, 'slice')}")
        parts.append(f"in {counted(launches, 'launch').replace('launchs', 'launches')}")
        said.append(f"Each configuration had {' '.join(filter(None, parts))}.")
    took = run.end.seconds if run.end is not None else None
    lasted = "" if took is None else f", and took {significant(took, 3)} s"
    said.append(
        f"It began at {moment(run.header.started)}{lasted}, with halftrip {run.header.halftrip}."
    )
    return " ".join(said)


def moment(text: str) -> str:
    """``2026-01-31 14:05 UTC`` of ``2026-01-31T14:05:59+00:00``; another text as it is."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{found:%Y-%m-%d %H:%M}{' UTC' if found.utcoffset() == timedelta() else ''}"


def _at_most(plan: dict[str, Any]) -> str:
    time = plan.get("time")
    return f"at most {time:g} s" if isinstance(time, int | float) else ""


def repeat(run: Run) -> list[Paragraph | Code]:
    """The command line of a run and its plan, which any installation of halftrip can read."""
    blocks: list[Paragraph | Code] = [Code(shlex.join(run.header.command), "The command")]
    if run.sources:
        said = "What another tool has measured, only that tool can measure again."
        return [*blocks, Paragraph(said)]
    plan = _plan(run)
    if plan is None:
        return [*blocks, Paragraph("Its plan has keys that this halftrip does not know.")]
    return [
        *blocks,
        Code(plan, "The plan"),
        Paragraph("Write the plan to PLAN.toml; halftrip run PLAN.toml measures the same again."),
    ]


def _plan(run: Run) -> str | None:
    """The plan as TOML; None where this halftrip cannot read it, as of a newer one."""
    try:
        return plan_text(make_plan(python_layer(run.header.plan)))
    except UsageError:
        return None


# The environments of hosts, or of several runs, beside each other.

# More hosts stand together in one column.
_MOST_HOSTS = 8
# Of a longer text, a table has the beginning.
_LONGEST = 300
_DIFFER_SAYS = "≠: it is not the same in all columns."


def environments_of_hosts(run: Run) -> list[Block]:
    """What is known of the hosts of a run, a column for each; none where nothing is."""
    hosts = [*dict.fromkeys(each.host for each in run.environments)]
    if not 1 < len(hosts) <= _MOST_HOSTS:
        known = facts(run)
        return _environments(f"The hosts of this run{_names_of(hosts)}", ["value"], [known])
    parts = [
        facts(
            msgspec.structs.replace(
                run,
                environments=tuple(each for each in run.environments if each.host == host),
                connections=(),
                devices=tuple(each for each in run.devices if each.rank in _ranks_of(run, host)),
            )
        )
        for host in hosts
    ]
    return _environments("The hosts of this run", hosts, parts)


def _names_of(hosts: Sequence[str]) -> str:
    if not hosts:
        return ""
    return f": {hosts[0]}" if len(hosts) == 1 else f": {len(hosts)} hosts"


def _ranks_of(run: Run, host: str) -> set[int]:
    return {each.rank for each in run.environments if each.host == host}


def environments_of_runs(runs: Sequence[Run]) -> list[Block]:
    """What is known of several runs, a column for each; none where nothing is."""
    known = [facts(run) for run in runs]
    return _environments("The environments of these runs", letters(len(runs)), known)


def _environments(
    title: str, names: Sequence[str], known: Sequence[Mapping[str, str]]
) -> list[Block]:
    keys = [*dict.fromkeys(key for each in known for key in each)]
    if not keys:
        return []
    values = [[printable(each.get(key, NOTHING), _LONGEST) for each in known] for key in keys]
    differing = frozenset(n for n, each in enumerate(values) if len(set(each)) > 1)
    rows = [
        [("≠ " if n in differing else "") + key, *each]
        for n, (key, each) in enumerate(zip(keys, values, strict=True))
    ]
    made = text_table(title, ["what", *names], rows)._replace(differing=differing)
    return [made, Legend([_DIFFER_SAYS])] if differing else [made]
