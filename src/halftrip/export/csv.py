"""CSV: a line for each measurement, and in a second file one for each sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from halftrip.analysis.figure import names
from halftrip.export.measurements import SAMPLE, Found, measurements
from halftrip.render.csv import text
from halftrip.report.document import Document


def files(document: Document) -> Mapping[str, str]:
    """The measurements, and the samples; a figure that does not exist is empty."""
    found = measurements(document)
    return {".csv": text([each.line for each in found]), "-samples.csv": _samples(found)}


def _samples(found: Sequence[Found]) -> str:
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(names(SAMPLE))
    for each in found:
        columns = [figure.of(each).tolist() for figure in SAMPLE]
        writer.writerows(zip(*columns, strict=True))
    return made.getvalue()
