"""What has changed between runs, as CI systems show it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from halftrip.analysis.comparison import Comparison
from halftrip.analysis.row_change import RowChange
from halftrip.texts import printable
from halftrip.views import compare as shown


def junit(comparisons: Sequence[Comparison]) -> str:
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
