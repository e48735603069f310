"""What has changed between two runs, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halftrip.analysis.comparison import Comparison
from halftrip.analysis.environments import Change, changes
from halftrip.analysis.figure import as_written
from halftrip.analysis.row_change import RowChange, share_of_core
from halftrip.analysis.setting_figures import configuration_fields


def differences(comparison: Comparison) -> list[Change]:
    """What differs between the environments of both runs; sides of one run have the same."""
    base, new = comparison.base.run, comparison.new.run
    return [] if base is new else [*_other_programs(comparison), *changes(base, new)]


def _other_programs(comparison: Comparison) -> list[Change]:
    """What other programs had of a core, where they ran beside one run alone: in the row in which
    that differs most."""
    apart = [row.others for row in comparison.rows if row.beside]
    if not apart:
        return []
    had, now = max(apart, key=lambda shares: abs(shares[0] - shares[1]))
    return [Change("other programs had of a core", share_of_core(had), share_of_core(now))]


def content(comparison: Comparison, answer: Sequence[str]) -> dict[str, Any]:
    """A comparison as one object; `answer` is what is said of it."""
    return {
        **{
            side: {"run": found.name, "started": found.run.header.started}
            for side, found in (("base", comparison.base), ("new", comparison.new))
        },
        "threshold": comparison.threshold,
        "quantile": comparison.quantile,
        "launch_spread": comparison.spread.value,
        "launch_spread_is": comparison.spread.source,
        "unknown_of_both": [*comparison.unknown.both],
        "unknown_of_one": [*comparison.unknown.one],
        "differences": [each._asdict() for each in differences(comparison)],
        "answer": answer,
        "rows": _rows(comparison),
        "missing": [configuration_fields(each) for each in comparison.missing],
        "only_base": [configuration_fields(each) for each in comparison.only_base],
        "only_new": [configuration_fields(each) for each in comparison.only_new],
        "not_compared": [
            {**configuration_fields(each.configuration), "reason": each.reason}
            for each in comparison.refused
        ],
    }


def records(comparison: Comparison) -> list[dict[str, Any]]:
    """A record for each row and state, and for each row that is missing."""
    names = {"base": comparison.base.name, "new": comparison.new.name}
    return [names | each for each in (*_rows(comparison), *_missing(comparison))]


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    return [_record(row) for row in comparison.rows]


def _missing(comparison: Comparison) -> list[dict[str, Any]]:
    """The rows that the new run should have, in the fields of the others."""
    nothing = dict.fromkeys(_record(comparison.rows[0]))
    return [
        {**nothing, **configuration_fields(each), "verdict": "missing"}
        for each in comparison.missing
    ]


def _record(row: RowChange) -> dict[str, Any]:
    """A row by names; its ratio is that of the times of both figures, whatever these are."""
    found, (base, new) = row.difference, row.figures
    unit = "bandwidth_bytes_per_s" if row.configuration.is_rate else "latency_ns"
    return {
        **configuration_fields(row.configuration),
        "state": row.state or None,
        "verdict": row.word,
        "reason": row.reason,
        f"base_{unit}": as_written(base),
        f"new_{unit}": as_written(new),
        "time_ratio": as_written(row.ratio),
        "time_ratio_low": found.low if found.is_known else None,
        "time_ratio_high": found.high if found.is_known else None,
        "p_value": found.p_value,
        "p_value_adjusted": row.p_adjusted,
        "effect": row.effect,
        "base_launches": row.base.launches,
        "new_launches": row.new.launches,
        "base_repeats": len(row.base.times),
        "new_repeats": len(row.new.times),
        "base_core_to_core_ns": as_written(row.base.rtt),
        "new_core_to_core_ns": as_written(row.new.rtt),
        "base_adjusted_by": row.adjusted,
        "other_paths_time_ratio": row.elsewhere,
        "launches_to_tell": row.launches,
    }
