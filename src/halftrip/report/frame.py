"""A run as a pandas data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halftrip.analysis.rows import rows
from halftrip.analysis.summaries import summarize_configuration
from halftrip.analysis.suspect import count_suspect
from halftrip.analysis.usage import usage_figures
from halftrip.errors import HalftripError
from halftrip.report.flat import configuration_fields, flat, summary_fields
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.units import with_units

if TYPE_CHECKING:
    import pandas


def frame(run: Run, slices: bool = False, name: str | None = None) -> pandas.DataFrame:
    """One row per configuration, as in ``halftrip show --format csv`` and in that order; with
    `slices`, one per slice, in the order in which they were measured: the fields of its
    configuration, when it was, and its statistics as `stats.summary` gives them. Names end in their
    unit.

    Before these, so that the frames of several runs can be put together, each row has the run (the
    `name`, or when it was started), its `date`, the `host` of the pair, and the `mpi` of the
    initiator.

    Raises HalftripError without pandas (``pip install 'halftrip[frame]'``).
    """
    try:
        import pandas
    except ImportError:
        raise HalftripError("frame() needs pandas: pip install pandas") from None

    of_run = {
        "run": name or run.header.started,
        "date": pandas.to_datetime(run.header.started, utc=True, errors="coerce"),
    }
    # Where ranks move between launches, it is the first that counts, of each variant.
    variants = run.variant_of
    by_variant = {
        (variants.get(each.launch, ()), each.rank): each for each in reversed(run.environments)
    }

    def origin(configuration: Configuration) -> dict[str, Any]:
        variant = configuration.variant if variants else ()
        ranks = {rank: each for (of, rank), each in by_variant.items() if of == variant}
        pair = [ranks.get(rank) for rank in configuration.pair]
        hosts = dict.fromkeys(each.host for each in pair if each is not None)
        mpi = pair[0].mpi if pair[0] is not None else None
        return of_run | {"host": ":".join(hosts) or None, "mpi": mpi}

    if not slices:
        return pandas.DataFrame([origin(row.configuration) | flat(row) for row in rows(run)])
    of_slices = []
    for measurement in run.measurements:
        fields = configuration_fields(measurement.configuration)
        fields |= {"slice": measurement.slice, "at": measurement.at}
        fields |= summary_fields(summarize_configuration([measurement]))
        fields |= {"suspect_samples": count_suspect([measurement])}
        fields |= usage_figures(measurement.configuration, measurement.usage)
        of_slices.append(origin(measurement.configuration) | with_units(fields))
    return pandas.DataFrame(of_slices)
