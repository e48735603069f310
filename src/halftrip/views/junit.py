"""What has changed between runs, as CI systems show it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from halftrip.analysis.comparison import Comparison
from halftrip.analysis.row_change import RowChange
from halftrip.results.configuration import Configuration
from halftrip.texts import printable
from halftrip.views.compare_rows import bounds, factor, figure, row_name


def junit(comparisons: Sequence[Comparison]) -> str:
    """A test case for each row and state, which fails where the row is slower, or missing, and is
    skipped where that cannot be told: as CI systems show them."""
    suites = ET.Element("testsuites", name="halftrip compare")
    for each in comparisons:
        failed = len(each.having("slower")) + len(each.missing)
        untold = len(each.having("cannot tell"))
        suite = ET.SubElement(
            suites,
            "testsuite",
            name=printable(f"{each.base.name} to {each.new.name}"),
            tests=str(len(each.rows) + len(each.missing)),
            failures=str(failed),
            skipped=str(untold),
            errors="0",
        )
        for row in each.rows:
            _case(suite, each, row)
        for configuration in each.missing:
            case = _named(suite, each, configuration)
            said = printable(f"{each.base.name} has it, {each.new.name} has not")
            ET.SubElement(case, "failure", message=said, type="missing")
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _named(
    suite: ET.Element, comparison: Comparison, configuration: Configuration, state: str = ""
) -> ET.Element:
    name = row_name(comparison, configuration)
    return ET.SubElement(
        suite,
        "testcase",
        classname=f"{configuration.transport}.{configuration.pattern}",
        name=printable(f"{name}, {state}" if state else name),
    )


def _case(suite: ET.Element, comparison: Comparison, row: RowChange) -> None:
    case = _named(suite, comparison, row.configuration, row.state)
    said = (
        f"{figure(row, 'new')}, was {figure(row, 'base')}: "
        f"{factor(row)} times as much (95 %: {bounds(row)})"
    )
    if row.word == "slower":
        ET.SubElement(case, "failure", message=printable(said), type="slower")
    elif row.word == "cannot tell":
        ET.SubElement(case, "skipped", message=printable(row.reason))
    ET.SubElement(case, "system-out").text = printable(said)
