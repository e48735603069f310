"""Parquet: the tables of CSV, with types. It needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from halftrip.analysis.figure import Figure
from halftrip.errors import HalftripError
from halftrip.export.measurements import SAMPLE, measurement_figures, measurements
from halftrip.interpreter import install_command
from halftrip.report.document import Document


def files(document: Document) -> Mapping[str, bytes]:
    """The measurements, and the samples; a figure that does not exist is null. Raises
    HalftripError without pyarrow."""
    try:
        import pyarrow
    except ImportError:
        said = f"--to parquet needs pyarrow: {install_command('parquet')}"
        raise HalftripError(said) from None
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
                    each.name, types[each.type], each.optional, {"description": each.says}
                )
                for each in figures
            ]
        )
        return _written(pyarrow.table(dict(columns), schema=schema))

    figures = measurement_figures(document)
    of_measurements = {
        figure.name: [each.line[figure.name] for each in found] for figure in figures
    }
    of_samples = {
        figure.name: np.concatenate([figure.of(each) for each in found]) for figure in SAMPLE
    }
    return {
        ".parquet": table(of_measurements, figures),
        "-samples.parquet": table(of_samples, SAMPLE),
    }


def _written(table: Any) -> bytes:
    import pyarrow
    from pyarrow import parquet

    made = pyarrow.BufferOutputStream()
    parquet.write_table(table, made)
    content: bytes = made.getvalue().to_pybytes()
    return content
