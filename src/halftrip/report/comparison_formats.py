"""What has changed between runs, for programs and documents."""

from __future__ import annotations

import csv as csv_
import io
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from typing import Any

from halftrip.analysis.comparison import Comparison
from halftrip.analysis.figure import or_none
from halftrip.analysis.row_change import RowChange
from halftrip.analysis.setting_figures import configuration_fields
from halftrip.report import comparison as shown
from halftrip.report.json import text
from halftrip.report.layout import as_markdown
from halftrip.texts import printable


def markdown(comparisons: Sequence[Comparison], every: bool = False) -> str:
    """The answer, and a table of what has changed, in GitHub Flavored Markdown."""
    blocks = []
    for each in comparisons:
        rows = shown.shown_rows(each, every)
        blocks += [
            _list([*shown.heading(each), *shown.around(each)]),
            "".join(f"{line}\n" for line in shown.answer(each)),
        ]
        if rows:
            blocks += [
                f"{shown.title(each, rows)}\n",
                as_markdown(shown.table(each, rows).table),
            ]
        blocks.append(_list(shown.left_out(each, rows)))
    return "\n".join(filter(None, blocks))


def _list(lines: Sequence[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def json(comparisons: Sequence[Comparison], every: bool = False) -> str:  # noqa: ARG001 (all rows)
    """All there is, as a list of one object for each new run."""
    return text([_content(each) for each in comparisons])


def csv(comparisons: Sequence[Comparison], every: bool = False) -> str:  # noqa: ARG001 (all rows)
    """A line for each row of each new run."""
    lines = [
        {"base": each.base.name, "new": each.new.name, **_row(row)}
        for each in comparisons
        for row in each.rows
    ]
    made = io.StringIO()
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv_.DictWriter(made, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return made.getvalue()


def junit(comparisons: Sequence[Comparison], every: bool = False) -> str:  # noqa: ARG001 (all rows)
    """A test case for each row, which fails where the row is slower, and is skipped where that
    cannot be told: as CI systems show them."""
    suites = ET.Element("testsuites", name="halftrip compare")
    for each in comparisons:
        failed, untold = len(each.having("slower")), len(each.having("cannot tell"))
        suite = ET.SubElement(
            suites,
            "testsuite",
            name=printable(f"{each.base.name} to {each.new.name}"),
            tests=str(len(each.rows)),
            failures=str(failed),
            skipped=str(untold),
            errors="0",
        )
        for row in each.rows:
            _case(suite, each, row)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, comparison: Comparison, row: RowChange) -> None:
    configuration = row.configuration
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"{configuration.transport}.{configuration.pattern}",
        name=printable(shown.row_name(comparison, configuration)),
    )
    low, high = row.bounds
    said = (
        f"{shown.figure(row, 'new')}, was {shown.figure(row, 'base')}: "
        f"{row.factor:.4g} times as much (95 %: {low:.4g} to {high:.4g})"
    )
    if row.word == "slower":
        ET.SubElement(case, "failure", message=printable(said), type="slower")
    elif row.word == "cannot tell":
        ET.SubElement(case, "skipped", message=printable(row.reason))
    ET.SubElement(case, "system-out").text = printable(said)


FORMATS: dict[str, Callable[[Sequence[Comparison], bool], str]] = {
    "markdown": markdown,
    "json": json,
    "junit": junit,
    "csv": csv,
}


def _content(comparison: Comparison) -> dict[str, Any]:
    return {
        **{
            side: {"run": found.name, "started": found.run.header.started}
            for side, found in (("base", comparison.base), ("new", comparison.new))
        },
        "threshold": comparison.threshold,
        "quantile": comparison.quantile,
        "launch_spread": comparison.spread.value,
        "launch_spread_is": comparison.spread.source,
        "differences": [each._asdict() for each in shown.differences(comparison)],
        "answer": shown.answer(comparison),
        "rows": [_row(row) for row in comparison.rows],
        "only_base": [configuration_fields(each) for each in comparison.only_base],
        "only_new": [configuration_fields(each) for each in comparison.only_new],
        "not_compared": [
            {**configuration_fields(each.configuration), "reason": each.reason}
            for each in comparison.refused
        ],
    }


def _row(row: RowChange) -> dict[str, Any]:
    """A row by names; its ratio is that of times, whatever is shown."""
    found = row.difference
    unit = "bandwidth_bytes_per_s" if row.configuration.is_rate else "latency_ns"
    return {
        **configuration_fields(row.configuration),
        "verdict": row.word,
        "reason": row.reason,
        f"base_{unit}": or_none(row.figure(row.base)),
        f"new_{unit}": or_none(row.figure(row.new)),
        "time_ratio": or_none(found.ratio),
        "time_ratio_low": found.low if found.is_known else None,
        "time_ratio_high": found.high if found.is_known else None,
        "p_value": found.p_value,
        "p_value_adjusted": row.p_adjusted,
        "effect": row.effect,
        "base_launches": row.base.launches,
        "new_launches": row.new.launches,
        "base_repeats": len(row.base.times),
        "new_repeats": len(row.new.times),
        "base_core_to_core_ns": or_none(row.base.rtt),
        "new_core_to_core_ns": or_none(row.new.rtt),
        "base_adjusted_by": row.adjusted,
        "launches_to_tell": row.launches,
    }
