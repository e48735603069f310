"""The system log in time: what the processors of each host did, and what went through its
interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from halftrip.errors import UsageError
from halftrip.plots.chart import (
    Chart,
    Drawing,
    Record,
    Subject,
    View,
    curves_of,
    layered,
    named,
    si_axis,
    slug,
    text,
)
from halftrip.results.counts import HostCounters

# The kinds of processor time that are drawn, from the foot up; what is left is idle.
_KINDS = ("user", "nice", "system", "irq", "softirq", "steal", "iowait")
_COUNTS = {"interrupts": "interrupts", "context_switches": "context switches"}
_WAYS = {"bytes_in": "in", "bytes_out": "out"}


def system(subjects: Sequence[Subject]) -> list[Chart]:
    """For each host its load, its interrupts and context switches, and its interfaces. Raises
    UsageError where no run has a system log."""
    charts: list[Chart] = []
    for number, subject in enumerate(subjects):
        records = [each for each in subject.document.run.host_counters if each.phase != "launch"]
        hosts = dict.fromkeys((each.host, each.rank) for each in records)
        for host, rank in hosts:
            own = [each for each in records if (each.host, each.rank) == (host, rank)]
            own.sort(key=lambda each: (each.launch, each.at))
            charts += _of_host(subject, ("system", number, rank), host, own)
    if not charts:
        raise UsageError("--kind system: no run has a system log; measure with --system-log")
    return charts


def _of_host(
    subject: Subject, name: tuple[object, ...], host: str, records: Sequence[HostCounters]
) -> Iterator[Chart]:
    spans = _spans(records)
    launches = len({each.launch for each in records})
    where = text(host)
    lines = [f"host {where}, run {subject.name}"]
    if launches > 1:
        lines.append(f"{launches} launches, one after the other.")
    loads = _loads(records, spans)
    if loads:
        yield _chart(
            slug(*name, "load"),
            f"Load of {where} in time",
            [*lines, "Of all processors together; what is left is idle."],
            loads,
            [kind for kind in _KINDS if any(each["series"] == kind for each in loads)],
            stacked=True,
        )
    traffic = _traffic(records, spans)
    if traffic:
        yield _chart(
            slug(*name, "traffic"),
            f"Traffic of the interfaces of {where} in time",
            [*lines, "With all headers. Interfaces without traffic are left out."],
            traffic,
            [*dict.fromkeys(each["series"] for each in traffic)],
            unit="B/s",
        )
    counts = _counts(records, spans)
    if counts:
        yield _chart(
            slug(*name, "counts"),
            f"Interrupts and context switches of {where} in time",
            lines,
            counts,
            [*dict.fromkeys(each["series"] for each in counts)],
            unit="/s",
        )


# Records.


def _spans(records: Sequence[HostCounters]) -> list[tuple[float, float, str]]:
    """From when to when each record counts, s, launches one after the other, and what ran."""
    found = []
    offset, latest, launch = 0.0, 0.0, None
    for each in records:
        if each.launch != launch:
            offset, launch = latest, each.launch
        first = offset + each.at
        latest = max(latest, first + each.seconds)
        found.append((first, first + each.seconds, _what(each)))
    return found


def _what(record: HostCounters) -> str:
    if not record.configurations:
        return f"{record.phase}, idle"
    names = [*dict.fromkeys(each.title for each in record.configurations)]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return text(", ".join(names[:2]) + more)


def _loads(
    records: Sequence[HostCounters], spans: Sequence[tuple[float, float, str]]
) -> list[Record]:
    found: list[Record] = []
    for record, (first, last, what) in zip(records, spans, strict=True):
        times = record.cpus.get("all", {})
        total = sum(times.values())
        foot = 0.0
        for kind in _KINDS:
            share = times.get(kind, 0.0) / total if total > 0 and "idle" in times else 0.0
            if share > 0:
                found.append(
                    _record(kind, first, last, what, share) | {"low": foot, "high": foot + share}
                )
                foot += share
    return found


def _record(series: str, first: float, last: float, what: str, value: float) -> Record:
    return {
        "series": series,
        "transport": "",
        "first": first,
        "last": last,
        "y": value,
        "what": what,
    }


def _traffic(
    records: Sequence[HostCounters], spans: Sequence[tuple[float, float, str]]
) -> list[Record]:
    busy = {
        (name, way)
        for record in records
        for name, counts in record.interfaces.items()
        for way in _WAYS
        if counts.get(way, 0) > 0
    }
    return [
        _record(
            text(f"{name} {_WAYS[way]}"), first, last, what,
            max(record.interfaces.get(name, {}).get(way, 0), 0) / record.seconds,
        )
        for record, (first, last, what) in zip(records, spans, strict=True)
        for name, way in sorted(busy)
    ]  # fmt: skip


def _counts(
    records: Sequence[HostCounters], spans: Sequence[tuple[float, float, str]]
) -> list[Record]:
    return [
        _record(title, first, last, what, max(record.counts[name], 0) / record.seconds)
        for record, (first, last, what) in zip(records, spans, strict=True)
        for name, title in _COUNTS.items()
        if name in record.counts
    ]


# Marks.


def _chart(
    name: str,
    title: str,
    lines: Sequence[str],
    records: Sequence[Record],
    names: Sequence[str],
    stacked: bool = False,
    unit: str = "",
) -> Chart:
    highest = max(records, key=lambda each: each["high"] if stacked else each["y"])
    value = f"{100 * highest['high']:.0f} %" if stacked else f"{highest['y']:,.0f} {unit}"
    records = [each | {"is_wide": each["series"] == names[0]} for each in records]
    return Chart(
        name=name,
        title=title,
        lines=lines,
        marks=[],
        view=_view(names, stacked, unit),
        data={"spans": records},
        text=f"{title}. Highest: {value} at {highest['first']:.1f} s ({highest['what']}).",
        drawing=Drawing(
            "s",
            "share" if stacked else unit,
            curves_of(records, names, x="first"),
        ),
        height=180,
    )


def _view(names: Sequence[str], stacked: bool, unit: str) -> View:
    hues = alt.Color(
        "series:N",
        scale=alt.Scale(domain=[*names]),
        legend=alt.Legend(
            title=None, symbolType="square" if stacked else "stroke", symbolLimit=len(names)
        ),
    )
    x = alt.X("first:Q", axis=alt.Axis(title="time, s", grid=False), scale=alt.Scale(nice=False))
    tip = [
        alt.Tooltip("what:N"),
        alt.Tooltip("series:N", title="of"),
        alt.Tooltip("y:Q", format=".3~%" if stacked else ".4~s", title="value"),
        alt.Tooltip("first:Q", format=".2f", title="from, s"),
        alt.Tooltip("last:Q", format=".2f", title="to, s"),
    ]
    spans = alt.Chart(named("spans"))
    if stacked:
        y = alt.Y("low:Q", axis=alt.Axis(title="share of processor time", format="%"),
                  scale=alt.Scale(domain=[0, 1]))  # fmt: skip
        return layered(
            spans.mark_rect(stroke=None).encode(
                x=x, x2=alt.X2("last:Q"), y=y, y2=alt.Y2("high:Q"), color=hues, tooltip=tip
            )
        )
    return layered(
        # Where two are equal, as what went in and out of loopback, both are seen.
        spans.mark_rule().encode(
            strokeWidth=alt.condition("datum.is_wide", alt.value(5), alt.value(2)),
            x=x,
            x2=alt.X2("last:Q"),
            y=alt.Y("y:Q", axis=si_axis("per second", unit, [], is_log=False)),
            color=hues,
            tooltip=tip,
        )
    )
