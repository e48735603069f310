"""A run as a pandas data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halftrip.analysis.figure import fields, names
from halftrip.analysis.figures import STATE, SUMMARY, SUSPECT, USAGE, of_end, row_fields
from halftrip.analysis.rows import in_every_state, rows
from halftrip.analysis.setting_figures import CONFIGURATION, with_extra
from halftrip.analysis.slice_figures import SLICE, MeasuredSlice
from halftrip.analysis.states import run_states
from halftrip.errors import HalftripError
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run

if TYPE_CHECKING:
    import pandas

# Of the figures of a slice, those that a frame has, by name.
_OF_SLICES = {"slice", "at_s", *names(CONFIGURATION), *names(SUMMARY), *names(SUSPECT)}
_OF_SLICES |= {*names(STATE), "state_changed", *names(of_end(0, USAGE)), *names(of_end(1, USAGE))}


def frame(run: Run, slices: bool = False, name: str | None = None) -> pandas.DataFrame:
    """One row per configuration, and per state of one that has several, as in ``halftrip show
    --format csv`` and in that order; with `slices`, one per slice, in the order in which they were
    measured: the fields of its configuration, when it was, and its statistics as `stats.summary`
    gives them. Names end in their unit.

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

    if slices:
        shown = [each for each in SLICE if each.name in _OF_SLICES]
        states = run_states(run)
        found = [
            (
                each.configuration,
                with_extra(fields(shown, MeasuredSlice.of(run, each, states)), each.configuration),
            )
            for each in run.measurements
        ]
    else:
        found = [(row.configuration, row_fields(row)) for row in in_every_state(rows(run))]
    return pandas.DataFrame([origin(configuration) | figures for configuration, figures in found])
