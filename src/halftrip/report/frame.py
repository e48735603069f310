"""A run as a pandas data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrip.analysis.summaries import summarize_configuration
from halftrip.analysis.suspect import count_suspect
from halftrip.analysis.usage import usage_figures
from halftrip.errors import HalftripError
from halftrip.report.flat import configuration_fields, flat, summary_fields
from halftrip.report.rows import rows
from halftrip.results.run import Run
from halftrip.units import with_units

if TYPE_CHECKING:
    import pandas


def frame(run: Run, slices: bool = False) -> pandas.DataFrame:
    """One row per configuration, as in ``halftrip show --style csv``; with `slices`, one per slice,
    in the order in which they were measured: the fields of its configuration, when it was, and its
    statistics as `stats.summary` gives them. Names end in their unit.

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
        fields = configuration_fields(measurement.configuration)
        fields |= {"slice": measurement.slice, "at": measurement.at}
        fields |= summary_fields(summarize_configuration([measurement]))
        fields |= {"suspect_samples": count_suspect([measurement])}
        fields |= usage_figures(measurement.configuration, measurement.usage)
        of_slices.append(with_units(fields))
    return pandas.DataFrame(of_slices)
