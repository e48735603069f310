"""The samples of a run as a pandas data frame: the table of CSV and Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrip.errors import HalftripError
from halftrip.export.measurements import SAMPLE, measurements
from halftrip.report.document import document
from halftrip.results.run import Run

if TYPE_CHECKING:
    import pandas


def samples_frame(run: Run, name: str | None = None) -> pandas.DataFrame:
    """One row per sample, below the columns of `SAMPLE`, behind the run: its `name`, or when it was
    started. Raises HalftripError without pandas."""
    try:
        import pandas
    except ImportError:
        raise HalftripError("frame() needs pandas: pip install pandas") from None
    found = measurements(document(run, flags=False))
    columns = {
        figure.name: np.concatenate([figure.of(each) for each in found] or [np.empty(0)])
        for figure in SAMPLE
    }
    frame = pandas.DataFrame(columns)
    frame.insert(0, "run", name or run.header.started)
    return frame
