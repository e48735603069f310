"""Writes charts into a file: SVG, PNG, PDF, a page, or the Vega-Lite JSON of it."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import vl_convert

from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.files import beside, fill, replace
from halftrip.plots.chart import Chart
from halftrip.plots.theme import Theme, config
from halftrip.spelling import nearest

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_VERSION = "6.4"
WIDTH = 640
# The characters of a line below a title to a pixel.
_COLUMNS = 110 / 640
_LEAST_COLUMNS = 24
# More charts than these stand in two columns.
_MOST_BELOW = 4
# Dots of a PNG to a pixel.
_DOTS = 2.0
HIDDEN = "hidden"


class Layout(NamedTuple):
    """How charts are written: the width of each in pixels or ``container``, its height in pixels
    (None: its own), both without titles and legends; whether it has its title. Several have the
    text `heading` above all."""

    width: int | str = WIDTH
    height: int | None = None
    titled: bool = True
    heading: str = ""


USUAL = Layout()


def single(chart: Chart, layout: Layout = USUAL) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, with its data."""
    return {"$schema": _SCHEMA, **_part(chart, layout), **_shared([chart])}


def joint(charts: Sequence[Chart], layout: Layout = USUAL) -> dict[str, Any]:
    """The specification of charts below each other, many in two columns."""
    if len(charts) == 1:
        return single(charts[0], layout)
    parts = [_part(chart, layout) for chart in charts]
    columns = 1 if len(charts) <= _MOST_BELOW else 2
    # Each has its own colours and shapes.
    resolve = {
        "scale": dict.fromkeys(("color", "shape", "strokeDash", "fill", "stroke"), "independent")
    }
    return {
        "$schema": _SCHEMA,
        **({"title": layout.heading} if layout.heading else {}),
        "concat": parts,
        "columns": columns,
        "resolve": resolve,
        **_shared(charts),
    }


def _shared(charts: Sequence[Chart]) -> dict[str, Any]:
    datasets = {
        f"{chart.name}-{name}": records for chart in charts for name, records in chart.data.items()
    }
    return {"datasets": datasets, "params": [{"name": HIDDEN, "value": []}]}


def _part(chart: Chart, layout: Layout) -> dict[str, Any]:
    """A chart whose data sets have its name before theirs."""
    # To check it against the schema takes half of the time; tests do.
    found: dict[str, Any] = chart.view.to_dict(validate=False, context={"top_level": False})
    _rename(found, chart.name)
    found["width"], found["height"] = layout.width, layout.height or chart.height
    if layout.titled and isinstance(layout.width, int):
        columns = max(_LEAST_COLUMNS, int(_COLUMNS * layout.width))
        lines = [line for said in said_of(chart) for line in textwrap.wrap(said, columns)]
        found["title"] = {"text": chart.title, **({"subtitle": lines} if lines else {})}
    found["description"] = chart.text
    return found


def said_of(chart: Chart) -> list[str]:
    """All that stands below the title of a chart."""
    return [*filter(None, [*chart.lines, *chart.marks])]


def with_notes(charts: Sequence[Chart], notes: str) -> list[Chart]:
    """The charts with all that stands below their titles, without what marks mean (``short``), or
    with nothing there (``no``)."""
    if notes == "all":
        return [*charts]
    return [each._replace(marks=[], lines=[] if notes == "no" else each.lines) for each in charts]


def _rename(part: Any, name: str) -> None:
    if isinstance(part, dict):
        data = part.get("data")
        if isinstance(data, dict) and isinstance(data.get("name"), str):
            part["data"] = {"name": f"{name}-{data['name']}"}
        for value in part.values():
            _rename(value, name)
    elif isinstance(part, list):
        for value in part:
            _rename(value, name)


# Files.


def _svg(spec: dict[str, Any], theme: Theme) -> bytes:
    svg: str = vl_convert.vegalite_to_svg(spec, vl_version=_VERSION, config=config(theme))
    return svg.encode()


def _png(spec: dict[str, Any], theme: Theme) -> bytes:
    return bytes(
        vl_convert.vegalite_to_png(spec, vl_version=_VERSION, config=config(theme), scale=_DOTS)
    )


def _pdf(spec: dict[str, Any], theme: Theme) -> bytes:
    return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=_VERSION, config=config(theme)))


_FORMATS: Mapping[str, Callable[[dict[str, Any], Theme], bytes]] = MappingProxyType(
    {"svg": _svg, "png": _png, "pdf": _pdf}
)
PAGE = "html"
ENDINGS = (*_FORMATS, PAGE)


def ending(path: str) -> str:
    """The format that a name asks for by its ending. Raises UsageError for one that is not
    known."""
    found = Path(path).suffix.lstrip(".").lower()
    if found in ENDINGS:
        return found
    allowed = ", ".join(f".{each}" for each in ENDINGS)
    if not found:
        raise UsageError(f"--output: {path!r} has no ending; allowed: {allowed}")
    raise UsageError(f"--output: .{found} is not known; {nearest(found, list(ENDINGS))}")


def spec_text(charts: Sequence[Chart], theme: Theme, layout: Layout = USUAL) -> str:
    """The Vega-Lite JSON of charts, for who wants to change it."""
    return (
        json.dumps({**joint(charts, layout), "config": config(theme)}, indent=1, allow_nan=False)
        + "\n"
    )


def picture(charts: Sequence[Chart], format_: str, theme: Theme, layout: Layout = USUAL) -> bytes:
    """Charts below each other in the format of an ending."""
    return _FORMATS[format_](joint(charts, layout), theme)


def write(path: str, content: bytes) -> None:
    """Writes a file, whole or not at all. Raises UsageError where it cannot be written."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            # A pipe, or /dev/stdout.
            Path(path).write_bytes(content)
            return
        with beside(path) as made:
            fill(made, content)
            replace(made, path)
    except OSError as error:
        raise HalftripError(f"{path}: {system_reason(error).lower()}") from None
