"""The first screen of a run: what was measured where, the answer, and how far to trust it."""

from __future__ import annotations

import re
import shlex

from halftrip.analysis.flags.cause import KEEP_STATE
from halftrip.analysis.layers import layered
from halftrip.analysis.verdict import NOT_OK
from halftrip.render.blocks import SHELL_COMMENT, SPACE, Block, Items, SummaryLine, Terms, View
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.views import (
    congestion,
    expected,
    maps,
    mpi_overhead,
    network,
    notes,
    overview,
    pairs,
    ranking,
    side_by_side,
    states,
    under_load,
)
from halftrip.views.row_tables import row_tables
from halftrip.views.why import advice, groups, trust

# Causes that may be gone when the same is measured again.
_HELPED_BY_ANOTHER_RUN = ("CPU contention", "steal", "level wandered", "two levels", "contradicted")
# What takes an option of a run is for a new one: one that goes on has those of its plan.
_OF_A_NEW_RUN = re.compile(r", or [^,;]*--[^,;]*")
# With so many rows or fewer, a legend under each table.
_SAYS_UP_TO = 40
# Of more lines of a table than anybody reads to the end, so many are shown.
_MOST_LINES, _SHOWN = 200, 40
# So many sizes of a curve are a sweep.
_SWEEP = 5
# More kinds of machines are counted.
_FEW_MACHINES = 2


def first_screen(document: Document, file: str | None = None) -> View:
    """An overview where a run has several paths and sizes, the pairs where there are several, else
    the table of its rows. `file` is the run file's name; None: the screen is of a part of the run,
    which cannot be measured again alone. Of a run that goes on, nothing is to be done yet."""
    # Overviews are of one-way times.
    if congestion.has_congestion(document.rows):
        body = congestion.blocks(document)
    elif under_load.has_traffic(document.rows):
        body = under_load.blocks(document)
    elif document.round_trips:
        body = _tables(document)
    elif pairs.has_pairs(document.rows):
        body = pairs.blocks(document)
    elif overview.has_tables(document):
        body = overview.blocks_of_tables(document)
    elif side_by_side.has_variants(document):
        body = side_by_side.blocks_of_variants(document)
    elif overview.has_overview(document.rows):
        body = overview.blocks(document)
    else:
        body = _tables(document)
    ranked = (
        ""
        if document.is_running
        else ranking.sentence(document, side_by_side.variant_names(document))
    )
    said = [
        *([ranked] if ranked else []),
        *side_by_side.key_of_variants(document),
        *under_load.lines(document),
        *expected.lines(document),
        *([] if document.is_running else maps.lines(document)),
        *mpi_overhead.lines(document),
        *network.devices(document.run),
        *network.lines(document.run),
        *notes.uneven_ways(document),
        *notes.breakpoints(document.curves),
        *notes.losses(document.rows),
    ]
    several = states.are_several(document.states)
    return View(
        [
            SummaryLine(heading(document)),
            # Too long for the line above, which leaves out what it has no room for.
            *([Items(states.heading(document.states))] if several else []),
            SPACE,
            *body,
            *([SPACE] if body else []),
            Items(said),
            *notes.missing_blocks(document),
            *([_trust(document, file, bool(ranked))] if document.rows else []),
        ],
        title="First screen",
    )


def _tables(document: Document) -> list[Block]:
    """The tables of all rows, as people know them from other tools."""
    blocks: list[Block] = []
    for found in row_tables(document, brief=True):
        if blocks:
            blocks.append(SPACE)
        part = found.table
        if len(part.lines) > _MOST_LINES:
            part = part.evenly(_SHOWN)
        blocks.append(part._replace(titling="above"))
        if len(part.lines) < len(found.rows):
            count = f"{len(part.lines)} of {len(found.rows):,} rows"
            blocks.append(Items([f"{count}, evenly chosen: --details has all"]))
        if len(found.rows) <= _SAYS_UP_TO:
            blocks += [SPACE, found.legend._replace(in_one=True)]
    together = notes.summed_aggregates(document.aggregates, document.run.names)
    return [*blocks, Items(together)] if together else blocks


def heading(document: Document) -> list[str]:
    """What was measured where, in parts of which the first are the most important."""
    run = document.run
    rows = document.rows if run.sources else document.latency_rows or document.rate_rows
    shown = [row.configuration for row in rows]
    parts = [f"halftrip {run.header.halftrip}"]
    if shown:
        parts.append(", ".join(dict.fromkeys(each.pattern for each in shown)))
    first = run.first_ranks
    if shown and all(each.is_simulated for each in shown):
        parts.append("simulated, in virtual time")
    elif first:
        hosts = dict.fromkeys(each.host for each in first)
        where = ", ".join(hosts) if len(hosts) < 3 else f"{len(hosts)} hosts"
        cores = _cores(document)
        on = f", cores {' and '.join(cores)}" if len(cores) == 2 == len(first) else ""
        on = on if cores else ", any core"
        parts.append(f"{len(first)} ranks on {where}{on}")
        # All figures are of it.
        parts += [] if states.are_several(document.states) else states.heading(document.states)
        software = dict.fromkeys(side_by_side.mpis(run).values())
        parts += [" and ".join(software)] if software else []
        machines = dict.fromkeys(
            f"{_short(e.processor)}{' (VM)' if e.hypervisor else ''}" for e in first
        )
        few = len(machines) <= _FEW_MACHINES
        parts.append(" and ".join(machines) if few else f"{len(machines)} kinds of machines")
    for source in run.sources[:1]:
        tools = " and ".join(dict.fromkeys(each.tool for each in run.sources))
        more = len({each.file for each in run.sources}) - 1
        files = f" and {more} more {'file' if more == 1 else 'files'}" if more else ""
        parts.append(f"{tools}, imported from {source.file}{files}")
        parts += [" and ".join(dict.fromkeys(source.hosts))] if source.hosts else []
    launches = len({each.launch for each in run.measurements})
    # Of a run that varies something, each value has its own.
    if launches > 1 and not run.launches:
        parts.append(f"{launches} launches")
    if run.end is not None and run.end.seconds is not None:
        parts.append(f"{run.end.seconds:.0f} s")
    return parts


def _cores(document: Document) -> list[str]:
    """The cores of the ranks in the first launch; none where they were others in other variants."""
    cores = [
        [str(each.core) for each in ranks if each.core is not None]
        for ranks in document.run.first_environments.values()
    ]
    return cores[0] if all(each == cores[0] for each in cores) else []


def _short(processor: str) -> str:
    """The name of a processor without what all names have."""
    words = processor.partition(" @ ")[0].replace("(R)", "").replace("(TM)", "").split()
    idle = {"CPU", "Processor"}
    return " ".join(word for word in words if word not in idle) or processor


def _trust(document: Document, file: str | None, is_ranked: bool) -> Terms:
    """How many rows have which verdict, what explains most of the others, and what to do;
    `is_ranked`: the screen says which path is the fastest."""
    if document.is_running:
        return Terms([("Trust", trust(document))])
    first, again = _steps(document, file)
    items = [("Trust", trust(document))]
    if first or again:
        items.append(("Do", f"{first}; then" if first and again else first))
    name = "" if file is None else f" {shlex.quote(file)}"
    views = ["--details"]
    # What another tool has measured has neither samples nor costs, and this machine no part in it.
    is_own = not document.run.sources
    if is_own:
        views += ["--tails", "--cost"]
    if layered(document.run, (row.configuration for row in document.rows)):
        views.append("--layers")
    more = [f"halftrip show{name} --why{SHELL_COMMENT}or {', '.join(views)}"]
    if is_own:
        more += [*_models(document, name), "halftrip doctor"]
    alone = all(row.launches == 1 for row in document.rows)
    simulated = all(row.configuration.is_simulated for row in document.rows)
    is_one = is_own and is_ranked and alone and not simulated
    items.append(("More", "the same with --launches 5 compares over launches" if is_one else ""))
    return Terms(items, commands={"Do": [again] if again else [], "More": more})


def _models(document: Document, name: str) -> list[str]:
    """What fits lines to the curves of a run, and says why they bend, where it has some."""
    sizes: dict[Configuration, set[int]] = {}
    for row in document.rows:
        sizes.setdefault(row.configuration.curve, set()).add(row.configuration.size)
    if any(row.configuration.delay for row in document.rows):
        return [f"halftrip fit{name} --model loggp"]
    if any(len(each) >= _SWEEP for each in sizes.values()):
        return [f"halftrip fit{name}", f"halftrip explain{name}"]
    return []


def to_do(document: Document, file: str | None) -> str:
    """The one thing to do about rows that are not ok, and the command that does it; empty where
    there is nothing to do. `file` is the run file's name; None: a part of the run is shown."""
    return "; then ".join(filter(None, _steps(document, file)))


def _steps(document: Document, file: str | None) -> tuple[str, str]:
    """What to do, and the command that follows; either may be empty."""
    again = _again(document, file)
    # What an interrupted run lacks explains its rows.
    first = None if document.interrupted and again else advice(document)
    if first is not None and again:
        first = _OF_A_NEW_RUN.sub("", first)
    return first or "", again or ""


def _again(document: Document, file: str | None) -> str | None:
    """How the run goes on, if it was interrupted, or else how rows are measured again, where that
    helps as it is: other options take a run of their own."""
    if file is None or document.run.sources:
        return None
    command = f"halftrip run --resume {shlex.quote(file)}"
    if document.interrupted:
        limit = document.run.header.plan.get("max_duration")
        # Within the same time, it would stop as soon again.
        return command if limit is None else f"{command} --max-duration {10 * limit:g}s"
    first = next(iter(groups(document)), None)
    if first is None or first.cause.name not in _HELPED_BY_ANOTHER_RUN:
        return None
    plan = document.run.header.plan
    # A row of one slice has no interval, however often it is measured.
    if advice(document) == KEEP_STATE or plan.get("slices") == plan.get("launches") == 1:
        return None
    seen = {row.verdict.word for row in document.rows}
    words = ",".join(word for word in NOT_OK if word in seen)
    return f"{command} --again {words}"
