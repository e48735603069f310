"""A run as a pandas data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrip.analysis.summaries import summarize_case
from halftrip.analysis.suspect import count_suspect
from halftrip.analysis.usage import usage_figures
from halftrip.errors import HalftripError
from halftrip.report.flat import case_fields, flat, summary_fields
from halftrip.report.rows import rows
from halftrip.results.run import Run
from halftrip.units import with_units

if TYPE_CHECKING:
    import pandas


def frame(run: Run, slices: bool = False) -> pandas.DataFrame:
    """One row per case, as in ``halftrip show --style csv``; with `slices`, one per slice, in the
    order in which they were measured: the fields of its case, when it was, and its statistics as
    `stats.summary` gives them. Names end in their unit.

    Raises HalftripError without pandas (``pip install 'halftrip[frame]'``).
    """
    try:
        import pandas
    except ImportError:
        raise HalftripError("frame() needs pandas; pip install 'halftrip[frame]'") from None

    if not slices:
        return pandas.DataFrame([flat(row) for row in rows(run)])
    of_slices = []
    for measurement in run.measurements:
        fields = case_fields(measurement.case)
        fields |= {"slice": measurement.slice, "at": measurement.at}
        fields |= summary_fields(summarize_case([measurement]))
        fields |= {"marked": count_suspect([measurement])}
        fields |= usage_figures(measurement.case, measurement.usage)
        of_slices.append(with_units(fields))
    return pandas.DataFrame(of_slices)
