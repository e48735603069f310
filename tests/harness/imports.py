"""Runs that are imported, the texts of other tools' authors, and what styles print of them."""

import csv

from halftrip.registry import IMPORTERS, STYLES
from halftrip.report.document import document
from halftrip.results.run_file import assemble
from halftrip.tools.importing import imported
from harness.files import ROOT
from harness.need import need

_REFERENCES = ROOT.parent / "shared" / "references"


def reference(number):
    """The published text of this number, as bytes."""
    found = sorted(_REFERENCES.glob(f"{number:03d}_*.txt"))
    need(len(found) == 1, "the published texts of other tools are beside the repository")
    return found[0].read_bytes()


def table(name):
    """The rows of a table of these texts, as dictionaries of their cells."""
    path = _REFERENCES / "tables" / f"{name}.csv"
    need(path.exists(), "the published tables of other tools are beside the repository")
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def imported_run(content, tool=None, name="source.txt"):
    """The run that a text is; raises UsageError for none."""
    content = content.encode() if isinstance(content, str) else content
    header, *rest = imported(content, name, tool)
    return assemble(header, rest)


def in_style(run, style):
    """The run as that tool prints it."""
    return STYLES.load(style)(document(run, flags=False))


def title(tool):
    return IMPORTERS.load(tool).title


def figures(run, **wanted):
    """The cells that were printed, of the measurements whose configuration has these fields, in the
    order of the file."""
    return [
        each.reported.figures
        for each in run.measurements
        if all(getattr(each.configuration, name) == value for name, value in wanted.items())
    ]


def causes(run):
    """The causes of rows by transport, variant's values, and size."""
    return {
        (tuple(dict(row.configuration.variant).values()), row.configuration.size): row.verdict.cause
        for row in document(run).rows
    }
