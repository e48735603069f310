"""The pictures of a report: which there are, and how one is written into a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from halftrip.entries import PlotEntry
from halftrip.errors import UsageError
from halftrip.plots.chart import Chart, Subject
from halftrip.plots.writing import Layout, said_of, single
from halftrip.registry import PLOTS
from halftrip.render.html import escaped, prose

_ZOOM = {
    "name": "zoom",
    "bind": "scales",
    "select": {
        "type": "interval",
        # A finger scrolls the page, as does a wheel alone.
        "translate": "[pointerdown[event.pointerType !== 'touch'], window:pointerup] "
        "> window:pointermove!",
        "zoom": "wheel![event.ctrlKey || event.shiftKey]",
        "clear": "dblclick",
    },
}
_POSITIONS = ("x", "y")


def charts(subjects: Sequence[Subject], names: Iterable[str]) -> list[Chart]:
    """The pictures of these kinds, as far as the runs have anything of them."""
    found: list[Chart] = []
    for name in names:
        try:
            found += PLOTS.load(name)(subjects)
        except UsageError:
            # It says that there is nothing to draw, which the page shows by its absence.
            continue
    return found


def kinds(section: str) -> dict[str, PlotEntry]:
    """The kinds of pictures that stand in a section."""
    return {
        name: entry
        for name, entry in PLOTS.entries()
        if isinstance(entry, PlotEntry) and entry.section == section
    }


def of_section(subjects: Sequence[Subject], section: str, without: str = "") -> list[Chart]:
    """The pictures of a section, without those of this kind."""
    rates = [*map(_with_rates, subjects)]
    return [
        chart
        for name, entry in kinds(section).items()
        if name != without
        for chart in charts(rates if entry.of_rates else subjects, [name])
    ]


def _with_rates(subject: Subject) -> Subject:
    """The rows whose result is a rate."""
    document = subject.document
    return subject._replace(document=document._replace(rows=document.rate_rows))


def within(charts: Sequence[Chart], most: int) -> list[Chart]:
    """Those that together take no more than so many bytes; a large one makes room for later ones
    that are smaller."""
    kept = []
    for chart in charts:
        size = len(script_json(specification(chart)))
        if size <= most:
            most -= size
            kept.append(chart)
    return kept


def specification(chart: Chart) -> dict[str, Any]:
    """What draws a chart as wide as the page, with zoom."""
    spec = single(chart, Layout("container", titled=False))
    # Its text stands beside it.
    spec.pop("description", None)
    part = spec["layer"][0] if spec.get("layer") else spec
    if _can_zoom(spec):
        found = [*part.get("params", []), _ZOOM]
        part["params"] = found
    return spec


def _can_zoom(spec: Mapping[str, Any]) -> bool:
    """Whether both of its axes are of figures, and its marks are one picture."""
    parts = spec.get("layer") or [spec]
    if any(name in spec for name in ("hconcat", "vconcat", "concat", "facet", "repeat", "spec")):
        return False
    encodings = [each.get("encoding", {}) for each in [spec, *parts]]
    if any(name in each for each in encodings for name in ("row", "column", "facet")):
        return False
    first = {**spec.get("encoding", {}), **parts[0].get("encoding", {})}
    return all(_is_of_figures(first.get(name, {})) for name in _POSITIONS)


def _is_of_figures(channel: Mapping[str, Any]) -> bool:
    return channel.get("type") == "quantitative" and not channel.get("bin")


def script_json(value: Any) -> str:
    """A value in JSON that may stand in a script element: it cannot end that."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # U+2028 and U+2029 are line ends to some readers.
    for character in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def transports(charts: Iterable[Chart]) -> list[str]:
    """The transports of which any chart has marks that can be hidden."""
    return list(
        dict.fromkeys(
            str(record["transport"])
            for chart in charts
            for records in chart.data.values()
            for record in records
            # What belongs to no transport, as the load of a host, has none.
            if record.get("transport")
        )
    )


# In a page.


def choice(charts: Sequence[Chart]) -> str:
    """Check boxes for the transports of all charts; a script shows them."""
    names = transports(charts)
    if len(names) < 2:
        return ""
    boxes = "".join(
        f'<label><input type="checkbox" value="{escaped(name)}" checked> {escaped(name)}</label>'
        for name in names
    )
    return (
        '<div id="choice" role="group" aria-labelledby="choice-title" hidden>'
        f'<span id="choice-title">Shown in pictures:</span>{boxes}</div>\n'
    )


def figure(chart: Chart) -> str:
    """A picture with its title, its lines, and what it shows in words; a script draws it."""
    name = f"chart-{chart.name}"
    lines = "".join(f"<p>{prose(line)}</p>" for line in said_of(chart))
    return (
        f'<figure aria-labelledby="{name}-title">'
        f'<figcaption><h3 id="{name}-title">{escaped(chart.title)}</h3>{lines}</figcaption>'
        f'<div class="picture" id="{name}" role="img" aria-labelledby="{name}-title" '
        f'aria-describedby="{name}-text"><div aria-hidden="true"></div></div>'
        f'<details class="words"><summary>In words</summary>'
        f'<p id="{name}-text">{prose(chart.text)}</p></details>'
        f'<script type="application/json" data-for="{name}">'
        f"{script_json(specification(chart))}</script></figure>"
    )
