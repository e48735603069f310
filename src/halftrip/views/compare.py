"""What has changed between two runs: first what differs around them, then the answer, then the
rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from halftrip.analysis.compared_run import named, unlike
from halftrip.analysis.comparison import Comparison
from halftrip.analysis.flags.flag import counted
from halftrip.analysis.row_change import RowChange
from halftrip.render.blocks import SPACE, Block, Items, Paragraph, View
from halftrip.report.numbers import factor_texts
from halftrip.results.configuration import Configuration
from halftrip.stats.estimate import Estimate
from halftrip.units import significant
from halftrip.views.compare_fields import content, differences, records
from halftrip.views.compare_rows import figure, row_name, tables
from halftrip.views.single_figures import CANNOT_TELL, more_of, what_it_takes
from halftrip.views.states import BOTH_STATES

# Rows that cannot be told, and what differs around the runs: so many are shown, the rest counted.
_MOST_UNTOLD = 10
_MOST_CHANGES = 12
# Of rows that are missing, or of one run only, so many are named.
_MOST_NAMED = 3
_IN_TURN = "halftrip run --against BASE measures both sides in turn"
# Nobody takes more.
_MOST_LAUNCHES = 500


def compare(comparisons: Sequence[Comparison], every: bool = False) -> View:
    """All comparisons; `every`: with the rows that have not changed."""
    blocks: list[Block] = []
    for comparison in comparisons:
        if blocks:
            blocks.append(SPACE)
        blocks += [
            Items([*heading(comparison), *around(comparison)]),
            SPACE,
            *(Paragraph(line, style="bold") for line in answer(comparison)),
        ]
        shown = shown_rows(comparison, every)
        if shown:
            blocks += [each for made in tables(comparison, shown) for each in (SPACE, made)]
        notes = left_out(comparison, shown)
        if notes:
            blocks += [SPACE, Items(notes, "dim")]
    return View(
        blocks,
        lambda: [content(each, answer(each)) for each in comparisons],
        lambda: [record for each in comparisons for record in records(each)],
        "What changed",
    )


def heading(comparison: Comparison) -> list[str]:
    """The two runs, and when they were measured."""
    sides = (("base", comparison.base), ("new", comparison.new))
    return [
        ", ".join(filter(None, (f"{name}: {side.name}", side.run.measured))) for name, side in sides
    ]


def around(comparison: Comparison) -> list[str]:
    """What differs between the environments of both runs, and what is not known of the rows, a line
    each."""
    found, unknown = differences(comparison), comparison.unknown
    lines = [f"differs: {each.name}: {each.base} -> {each.new}" for each in found]
    if len(lines) > _MOST_CHANGES:
        more = len(lines) - _MOST_CHANGES
        lines = [*lines[:_MOST_CHANGES], f"and {more} more; --format json has all of them"]
    if not found and comparison.base.run is not comparison.new.run:
        sides = (comparison.base, comparison.new)
        lines.append(
            "nothing that is known of their environments differs"
            if all(side.run.environments for side in sides)
            else "the environments of both runs are not known"
        )
    if unknown.both:
        lines.append(f"neither run says, so that they may differ in: {named(unknown.both)}")
    if unknown.one:
        lines.append(f"one run does not say, taken to be the same: {named(unknown.one)}")
    return lines


def answer(comparison: Comparison) -> list[str]:
    """What has changed, the most of it, and how far that holds, in a sentence or two each."""
    return [
        *_counts(comparison),
        *_missing(comparison),
        *_largest(comparison),
        *_untold(comparison),
        *_beside(comparison),
        *_in_common(comparison),
        *_single(comparison),
        *_holds(comparison),
    ]


def _counts(comparison: Comparison) -> list[str]:
    within = f"the same within {_percent(comparison.threshold)}"
    found = comparison.counts
    of, untold = found.total(), found["cannot tell"]
    words = (("slower", "slower"), ("faster", "faster"), ("same", within))
    counts = [(found[word], said) for word, said in words]
    known = [f"{count} {said}" for count, said in counts if count]
    if untold == of:
        which = "the only row" if of == 1 else f"any of the {of} rows"
        return [f"Whether {which} has changed cannot be told."]
    rest = f"; {untold} cannot be told" if untold else ""
    if len(known) == 1 and not untold:
        all_ = "The only row is" if of == 1 else f"All {of} rows are"
        return [f"{all_} {known[0].split(' ', 1)[1]}."]
    return [f"Of {of} rows, {', '.join(known)}{rest}."]


def _missing(comparison: Comparison) -> list[str]:
    """The rows of the base that the new run should have, and has not."""
    if not comparison.missing:
        return []
    is_ = "is" if len(comparison.missing) == 1 else "are"
    said = f"{counted(len(comparison.missing), 'row')} of the base {is_} missing"
    return [f"{said}: {_named(comparison, comparison.missing)}; --allow-missing passes that."]


def _named(comparison: Comparison, rows: Sequence[Configuration]) -> str:
    """The first of these rows, and how many more there are."""
    some = ", ".join(row_name(comparison, each) for each in rows[:_MOST_NAMED])
    more = len(rows) - _MOST_NAMED
    return f"{some} and {more} more" if more > 0 else some


def _largest(comparison: Comparison) -> list[str]:
    """The largest change for the worse, else for the better; of none, what would tell."""
    changed = comparison.having("slower") or comparison.having("faster")
    if changed:
        row = changed[0]
        name = row_name(comparison, row.configuration)
        name += f", {row.state}," if row.state else ""
        values = f"{figure(row, 'new')}, was {figure(row, 'base')}"
        # Said from the larger side.
        slower = row.word == "slower"
        does = "takes" if slower else "is"
        if row.configuration.is_rate:
            does = "was" if slower else "carries"
        much = {"takes": "as long", "carries": "as much"}.get(does, "as fast")
        larger = Estimate(row.factor, *row.bounds)
        if does in ("is", "was"):
            larger = Estimate(1 / larger.value, 1 / larger.high, 1 / larger.low)
        times, low, high = factor_texts(larger)
        return [f"{name} {does} {times} times {much} (95 %: {low} to {high}): {values}."]
    untold = [row for row in comparison.having("cannot tell") if row.difference.is_known]
    apart = _apart(untold)
    hopeless = {row.configuration for row in untold if row.launches is None and not row.apart}
    helped = [row for row in untold if row.configuration not in hopeless]
    needed = [row.launches for row in helped if row.launches is not None]
    if not needed:
        return apart
    most, size = max(needed), _percent(comparison.threshold)
    if most > _MOST_LAUNCHES:
        vary = "they vary too much; halftrip show --why says what disturbs them"
        said = f"To find a change of {size} would take {most:,} launches of some rows: {vary}."
        return [*apart, said]
    takes = f"takes about {most:,} launches of each run: --launches {most}"
    which = "the others" if apart else "those that cannot be told"
    if hopeless:
        count = _rows(row for row in helped if row.launches is not None)
        which = "others" if apart else "that cannot be told"
        which = f"{count} of the {count + len(hopeless)} {which}"
        takes += f"; of the other{'s' if len(hopeless) > 1 else ''} no number of launches tells"
    return [*apart, f"To find a change of {size} in {which} {takes}."]


def _apart(untold: Sequence[RowChange]) -> list[str]:
    """Of what rows cannot be told since the machine was in other states, and how to get the same in
    both runs."""
    by_text: dict[str, list[RowChange]] = {}
    for row in untold:
        if row.apart:
            by_text.setdefault(row.apart, []).append(row)
    return [
        f"Cannot tell of {counted(_rows(rows), 'row')}: {text}. {BOTH_STATES}."
        for text, rows in by_text.items()
    ]


def _untold(comparison: Comparison) -> list[str]:
    """Why rows cannot be told, but for those of which more is said."""
    by_cause: dict[str, list[RowChange]] = {}
    for row in comparison.having("cannot tell"):
        if row.difference.is_known and not (row.apart or row.beside) and row.elsewhere is None:
            by_cause.setdefault(row.cause, []).append(row)
    counts = sorted(((_rows(rows), cause) for cause, rows in by_cause.items()), reverse=True)
    said = [f"{cause} ({counted(count, 'row')})" for count, cause in counts]
    return [f"Not told: {', '.join(said)}."] if said else []


def _beside(comparison: Comparison) -> list[str]:
    """Which rows cannot be told as other programs ran beside one of the runs, and what to do."""
    rows = [row for row in comparison.having("cannot tell") if row.beside and not row.apart]
    if not rows:
        return []
    which = f"Cannot tell of {counted(_rows(rows), 'row')}"
    return [f"{which}: {rows[0].cause}. Stop them, and measure that run again."]


def _in_common(comparison: Comparison) -> list[str]:
    """Which rows cannot be told as other paths changed alike, and what tells."""
    rows = [row for row in comparison.rows if row.elsewhere is not None and not row.beside]
    if not rows:
        return []
    factors = [significant(each(row.elsewhere or 1 for row in rows), 3) for each in (min, max)]
    times = " to ".join(dict.fromkeys(factors))
    alike = f"other paths take {times} times as long, too, as a machine may make them for minutes"
    return [f"Cannot tell of {counted(_rows(rows), 'row')}: {alike}. {_IN_TURN}."]


def _single(comparison: Comparison) -> list[str]:
    """What is known of rows without an interval, and what it would take to tell."""
    rows = [row for row in comparison.without_interval if not row.apart]
    if not rows:
        return []
    times = [significant(each(row.ratio for row in rows), 3) for each in (min, max)]
    factor = " to ".join(dict.fromkeys(times))
    takes = what_it_takes(comparison.imported)
    cannot = f"{CANNOT_TELL} of {counted(_rows(rows), 'row')}"
    return [f"{cannot}, {factor} times as long in the new run by the figures alone; {takes}."]


def _rows(found: Iterable[RowChange]) -> int:
    """How many rows these are: one may be in several states."""
    return len({row.configuration for row in found})


def _holds(comparison: Comparison) -> list[str]:
    """For what the answer holds: for repeating the whole thing, or within these launches."""
    said = []
    known = [row for row in comparison.rows if row.difference.is_known]
    alone = [row for row in known if row.is_one_launch_each]
    if not known:
        return []
    if alone:
        spread = comparison.spread
        percent = _percent(spread.value)
        how = {
            "given": f"launches differ by {percent}, as --launch-spread says",
            "measured": f"launches of these runs differ by {percent}, which is allowed for",
            "assumed": (
                f"launches are taken to differ by {percent}, since neither run has several: "
                f"{more_of(comparison.imported)} measures it, --launch-spread says it"
            ),
        }[spread.source]
        which = "This is" if len(alone) == len(known) else f"{_rows(alone)} rows are"
        said.append(f"{which} within one launch each; {how}.")
        stated = [row for row in alone if row.base.stated or row.new.stated]
        if stated:
            count = counted(_rows(stated), "row")
            said.append(f"The intervals of {count} are made of those that their sources state.")
    else:
        base, new = (
            _range([getattr(row, side).launches for row in known]) for side in ("base", "new")
        )
        have = f"The runs have {base} launches each"
        if base != new:
            have = f"The base has {base} launches and the new run {new}"
        if comparison.base.rounds is not None:
            have += ", in turn"
        said.append(f"{have}: this holds for fresh processes, too.")
    adjusted = [row for row in comparison.rows if row.adjusted is not None]
    if adjusted:
        rows = "1 row is" if _rows(adjusted) == 1 else f"{_rows(adjusted)} rows are"
        first = max(adjusted, key=lambda row: abs(math.log(row.adjusted or 1)))
        rtts = f"{first.base.rtt:.0f} ns, then {first.new.rtt:.0f}"
        said.append(f"{rows} adjusted for the core-to-core round trip ({rtts}).")
    return said


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def shown_rows(comparison: Comparison, every: bool = False) -> list[RowChange]:
    """The rows of the table: what has changed, some of what cannot be told, and with `every` all
    others."""
    untold = comparison.having("cannot tell")
    shown = [
        *comparison.having("slower"),
        *comparison.having("faster"),
        *(untold if every else untold[:_MOST_UNTOLD]),
    ]
    if every:
        shown += [row for row in comparison.rows if row.word == "same"]
    return shown


def left_out(comparison: Comparison, shown: Sequence[RowChange]) -> list[str]:
    """Rows that the table has not, by why; and what its figures are."""
    said = []
    hidden = {id(row) for row in comparison.rows} - {id(row) for row in shown}
    rest = [row for row in comparison.rows if id(row) in hidden]
    named = {row.configuration for row in shown}
    if others := [row for row in rest if row.configuration not in named]:
        said.append(f"{_more(others)}: --all")
    elif rest:
        said.append(f"other states of {counted(_rows(rest), 'row')}: --all")
    for side, rows in (
        (comparison.base, comparison.only_base),
        (comparison.new, comparison.only_new),
    ):
        if rows:
            said.append(f"only in {side.name}: {_named(comparison, rows)}")
    if comparison.only_base and comparison.only_new and not comparison.new.by:
        said.append(f"of these, {unlike(comparison.only_base, comparison.only_new)}")
    rows_left_out = {(row.configuration, name) for row in comparison.rows for name in row.left_out}
    left_out = Counter(name for _, name in rows_left_out)
    if left_out:
        why = [f"{name} ({counted(count, 'row')})" for name, count in sorted(left_out.items())]
        said.append(f"not counted: {', '.join(why)}")
    reasons: dict[str, int] = {}
    for each in comparison.refused:
        reasons[each.reason] = reasons.get(each.reason, 0) + 1
    for reason, count in reasons.items():
        rows_ = "1 row" if count == 1 else f"{count} rows"
        said.append(f"not compared: {rows_}: {reason}")
    return said


def _more(rest: Sequence[RowChange]) -> str:
    """How many rows these are that are the same, or cannot be told."""
    rows = f"{counted(_rows(rest), 'row')} more"
    same = _rows(row for row in rest if row.word == "same")
    are = "is" if same == 1 else "are"
    if same == _rows(rest):
        return f"{rows} {are} the same"
    if not same:
        return f"{rows} cannot be told"
    return f"of {rows}, {same} {are} the same and {_rows(rest) - same} cannot be told"


def _percent(share: float) -> str:
    return f"{round(100 * share, 2):g} %"
