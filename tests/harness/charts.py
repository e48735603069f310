"""Charts of runs, and what holds for all of them."""

import json
import math
import re

from halftrip.errors import UsageError
from halftrip.plots import writing
from halftrip.plots.chart import Subject
from halftrip.plots.draw import draw
from halftrip.report.document import document


def subject(run, name="run"):
    return Subject(name, document(run, flags=False))


def charts_of(kind, subjects):
    """The charts; an empty list where there is one line instead."""
    try:
        return draw(subjects, kind)
    except UsageError as error:
        said = str(error)
    assert said
    assert "\n" not in said
    return []


def check(charts):
    """That charts can be drawn: names differ, and every figure has a place."""
    assert len({chart.name for chart in charts}) == len(charts)
    for chart in charts:
        assert chart.title
        assert chart.text
        assert all(re.fullmatch(r"[a-z0-9-]+", chart.name) for chart in charts)
        assert any(chart.data.values())
        # It is as Vega-Lite's schema says.
        chart.view.to_dict(validate=True, context={"top_level": False})
        for records in chart.data.values():
            for value in (value for record in records for value in record.values()):
                assert not isinstance(value, float) or math.isfinite(value)
    json.loads(writing.spec_text(charts, "light"))
