"""CSV: a line for each measurement, and in a second file one for each sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from halftrip.export.columns import SAMPLE
from halftrip.export.measurements import Found, measurements
from halftrip.report.csv import text
from halftrip.report.document import Document


def files(document: Document) -> Mapping[str, str]:
    """The measurements, and the samples; a figure that does not exist is empty."""
    found = measurements(document)
    return {".csv": text([each.line for each in found]), "-samples.csv": _samples(found)}


def _samples(found: Sequence[Found]) -> str:
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(SAMPLE)
    for each in found:
        keys = list(each.keys.values())
        writer.writerows(
            [*keys, number, time, each.iterations]
            for number, time in enumerate(each.times.tolist())
        )
    return made.getvalue()
