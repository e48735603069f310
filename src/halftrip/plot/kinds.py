"""The kinds of pictures, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest
from halftrip.plot import (
    compare,
    curves,
    distribution,
    history,
    layers,
    pairs,
    samples,
    system,
    usage,
)
from halftrip.plot.chart import Chart, Subject
from halftrip.views.matrix import by_setting

# Each makes charts of runs. Raises UsageError, which says what these runs lack.
Kind = Callable[[Sequence[Subject]], list[Chart]]
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "latency": curves.latency,
        "bandwidth": curves.bandwidth,
        "rate": curves.rate,
        "samples": samples.samples,
        "distribution": distribution.distribution,
        "usage": usage.usage,
        "system": system.system,
        "pairs": pairs.pairs,
        "compare": compare.compare,
        "layers": layers.layers,
        "history": history.history,
    }
)


def kind_named(name: str) -> Kind:
    """The kind with this name. Raises UsageError if there is none."""
    if name not in KINDS:
        raise UsageError(f"--kind: {name!r} is not known; {nearest(name, list(KINDS))}")
    return KINDS[name]


def usual_kind(subjects: Sequence[Subject]) -> str:
    """The kind that shows most of what runs have: of what more than two pairs have measured, who is
    slow; else latencies; else bandwidths."""
    settings = (each for subject in subjects for each in by_setting(subject.document))
    if any(len(matrices[0].values) > 2 for _, matrices in settings):
        return "pairs"
    rows = [row.configuration for subject in subjects for row in subject.document.rows]
    return "latency" if any(not row.is_rate for row in rows) else "bandwidth"
