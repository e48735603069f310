"""A run as a pandas data frame, with a row for each measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrip.analysis.summaries import summarize_case
from halftrip.analysis.suspect import count_suspect
from halftrip.analysis.usage import usage_figures
from halftrip.errors import HalftripError
from halftrip.report.flat import case_fields, summary_fields
from halftrip.results.run import Run
from halftrip.units import with_units

if TYPE_CHECKING:
    import pandas


def frame(run: Run) -> pandas.DataFrame:
    """One row per measurement: the fields of its case, and its statistics as `stats.summary` gives
    them. Names end in their unit, as in ``halftrip show --style csv``.

    Raises HalftripError without pandas (``pip install 'halftrip[frame]'``).
    """
    try:
        import pandas
    except ImportError:
        raise HalftripError("frame() needs pandas; pip install 'halftrip[frame]'") from None

    rows = []
    for measurement in run.measurements:
        fields = case_fields(measurement.case)
        fields |= {"slice": measurement.slice, "at": measurement.at}
        fields |= summary_fields(summarize_case([measurement]))
        fields |= {"marked": count_suspect([measurement])}
        fields |= usage_figures(measurement.case, measurement.usage)
        rows.append(with_units(fields))
    return pandas.DataFrame(rows)
