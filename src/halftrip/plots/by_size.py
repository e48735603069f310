"""Makes charts of figures by message size: points, or bars where there is only one size."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.plots.bars import bars_view, only_size, terminal_bars
from halftrip.plots.chart import BYTES, Bars, Chart, Drawing, curves_of, size_axis, slug
from halftrip.plots.points import Points, open_says, thinned, view_of

# Pixels of a bar with the space beside it: of few bars, and of many, which take so many together.
_BAR, _SMALL_BAR, _ALL_BARS = 34, 20, 1000


def by_size(
    kind: str,
    pattern: str,
    title: str,
    points: Points,
    text: str,
    lines: Sequence[str] = (),
    marks: Sequence[str] = (),
    sizes: Sequence[float] | None = None,
    height: int = 300,
) -> Chart:
    """A chart of the figures of a pattern by message size, and bars where there is one size only;
    `sizes` are places on the axis (None: those of all figures)."""
    size = only_size(points.records, points.label)
    if size is None:
        points, left_out = thinned(points)
        lines = [*lines, *left_out]
        title = f"{title}: {pattern}"
        x = size_axis(sizes or [each["x"] for each in points.records])
        view = view_of(points, x)
        labels = [*dict.fromkeys(each[points.label] for each in points.records)]
        joined = points.look.joined
        curves = curves_of(points.records, labels, label=points.label, joined=joined)
        drawing: Drawing | Bars = Drawing(
            BYTES, points.unit, curves, x_is_log=True, y_is_log=points.is_log, points=joined is None
        )
    else:
        title = f"{title.removesuffix(' by message size')}: {pattern} of {size}"
        view, drawing = bars_view(points), terminal_bars(points)
        count = len(points.records)
        height = count * max(_SMALL_BAR, min(_BAR, _ALL_BARS // count))
    return Chart(
        name=slug(kind, pattern, size or ""),
        title=title,
        lines=lines,
        marks=[*marks, *open_says(points.records)],
        view=view,
        data={"points": points.records, **points.data},
        text=f"{title}. {text}",
        drawing=drawing,
        height=height,
    )
