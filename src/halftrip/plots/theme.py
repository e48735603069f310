"""The colours and fonts of pictures, in light and in dark.

The colours are those of Okabe and Ito, Color Universal Design (2008), which people with any kind of
colour blindness tell apart; on white without its yellow, on black without its dark blue.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

_FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', 'Liberation Sans', sans-serif"
_CATEGORIES: Mapping[Theme, list[str]] = MappingProxyType(
    {
        "light": ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#A87500", "#2F9BD8", "#555555"],
        "dark": ["#56B4E9", "#FF8A3D", "#2CC79A", "#E79AC8", "#F0E442", "#8FA8FF", "#BBBBBB"],
    }
)
# How many there are, and how lines are dashed and points are shaped when these come again.
HUES = 7
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
# Cividis, whose lightness grows evenly, and which looks nearly alike with any kind of colour
# blindness: Nunez, Anderton and Renslow, PLOS ONE 13, 2018.
CIVIDIS = (
    "#002051", "#11366C", "#3C4D6E", "#62646F", "#7F7C75", "#9A9478", "#BBAF71", "#E2CB5C",
    "#FDEA45",
)  # fmt: skip
_INK: Mapping[Theme, tuple[str, str, str, str]] = MappingProxyType(
    # Background, text, lesser text, lines of a grid.
    {
        "light": ("#FFFFFF", "#1B1F24", "#57606A", "#DDE1E6"),
        "dark": ("#14171C", "#E6EAF0", "#A3ADBA", "#343B45"),
    }
)


def config(theme: Theme) -> dict[str, Any]:
    """The configuration of Vega-Lite."""
    back, ink, lesser, grid = _INK[theme]
    labels = {"labelColor": lesser, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 12}
    return {
        "background": back,
        "font": _FONT,
        "view": {"stroke": None},
        "range": {
            "category": _CATEGORIES[theme],
            # From what is fast to what is slow; figures stand on them.
            "heatmap": list(CIVIDIS),
        },
        "axis": {**labels, "gridColor": grid, "domainColor": lesser, "tickColor": lesser,
                 "titleFontWeight": "normal", "titlePadding": 8, "labelSeparation": 6},
        "legend": {**labels, "symbolStrokeWidth": 2, "titleFontWeight": "normal"},
        "title": {
            "anchor": "start", "color": ink, "subtitleColor": lesser, "fontSize": 15,
            "subtitleFontSize": 11, "subtitleLineHeight": 15, "offset": 10,
            "subtitlePadding": 6, "fontWeight": 600, "frame": "group",
        },
        "text": {"color": lesser, "fontSize": 11},
        "rule": {"color": lesser},
        "tick": {"color": lesser},
        "rect": {"color": grid},
        "concat": {"spacing": 32},
    }  # fmt: skip
