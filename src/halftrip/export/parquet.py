"""Parquet: the tables of CSV, with types. It needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from halftrip.analysis.figure import Figure
from halftrip.errors import HalftripError
from halftrip.export.measurements import MEASUREMENT, SAMPLE, measurements
from halftrip.report.document import Document


def files(document: Document) -> Mapping[str, bytes]:
    """The measurements, and the samples; a figure that does not exist is null. Raises
    HalftripError without pyarrow."""
    try:
        import pyarrow
    except ImportError:
        raise HalftripError("--to parquet needs pyarrow: pip install 'halftrip[parquet]'") from None
    found = measurements(document)
    types = {
        "text": pyarrow.string(),
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "yes or no": pyarrow.bool_(),
    }

    def table(columns: Mapping[str, Any], figures: Iterable[Figure[Any]]) -> bytes:
        # The types do not depend on the values, so that the tables of several runs fit together.
        schema = pyarrow.schema(
            [
                pyarrow.field(
                    each.name, types[each.kind], each.optional, {"description": each.says}
                )
                for each in figures
            ]
        )
        return _written(pyarrow.table(dict(columns), schema=schema))

    of_measurements = {
        figure.name: [each.line[figure.name] for each in found] for figure in MEASUREMENT
    }
    of_samples = {
        figure.name: np.concatenate([figure.of(each) for each in found]) for figure in SAMPLE
    }
    return {
        ".parquet": table(of_measurements, MEASUREMENT),
        "-samples.parquet": table(of_samples, SAMPLE),
    }


def _written(table: Any) -> bytes:
    import pyarrow
    from pyarrow import parquet

    made = pyarrow.BufferOutputStream()
    parquet.write_table(table, made)
    content: bytes = made.getvalue().to_pybytes()
    return content
