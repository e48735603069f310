"""Parquet: the tables of CSV, with types. It needs pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halftrip.errors import HalftripError
from halftrip.export.columns import MEASUREMENT, SAMPLE
from halftrip.export.measurements import Found, measurements
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

    def table(columns: Mapping[str, Any], described: Mapping[str, Any]) -> bytes:
        # The types do not depend on the values, so that the tables of several runs fit together.
        schema = pyarrow.schema(
            [
                pyarrow.field(
                    name, types[each.kind], each.optional, {"description": each.description}
                )
                for name, each in described.items()
            ]
        )
        return _written(pyarrow.table(dict(columns), schema=schema))

    of_measurements = {name: [each.line[name] for each in found] for name in MEASUREMENT}
    return {
        ".parquet": table(of_measurements, MEASUREMENT),
        "-samples.parquet": table(_samples(found), SAMPLE),
    }


def _samples(found: Sequence[Found]) -> dict[str, Any]:
    counts = [each.times.size for each in found]
    columns: dict[str, Any] = {
        name: np.repeat(np.array([each.keys[name] for each in found]), counts)
        for name in SAMPLE
        if name not in ("sample", "time_ns", "iterations")
    }
    columns["sample"] = np.concatenate([np.arange(count) for count in counts])
    columns["time_ns"] = np.concatenate([each.times for each in found])
    columns["iterations"] = np.repeat(
        np.array([each.iterations for each in found], dtype=np.int64), counts
    )
    return columns


def _written(table: Any) -> bytes:
    import pyarrow
    from pyarrow import parquet

    made = pyarrow.BufferOutputStream()
    parquet.write_table(table, made)
    content: bytes = made.getvalue().to_pybytes()
    return content
