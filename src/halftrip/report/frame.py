"""A run as a table of measurements, for pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from halftrip.analysis.summaries import count_marked, summarize_case, usage_figures
from halftrip.errors import HalftripError
from halftrip.results.run import Run
from halftrip.units import with_units

if TYPE_CHECKING:
    import pandas


def frame(run: Run) -> pandas.DataFrame:
    """One row per measurement: the fields of its case, and its statistics as `stats.summary` gives
    them. Names end in their unit, as those of ``halftrip show --style csv``.

    Raises HalftripError without pandas (``pip install 'halftrip[frame]'``).
    """
    try:
        import pandas
    except ImportError:
        raise HalftripError("frame() needs pandas; pip install pandas") from None

    rows = []
    for measurement in run.measurements:
        fields = msgspec.structs.asdict(measurement.case)
        fields["pair"] = "-".join(str(rank) for rank in measurement.case.pair)
        fields |= {"repetition": measurement.repetition, "at": measurement.at}
        fields |= summarize_case([measurement])._asdict()
        fields |= {"marked": count_marked([measurement])}
        fields |= usage_figures(measurement.case, measurement.usage)
        rows.append(with_units(fields))
    return pandas.DataFrame(rows)
