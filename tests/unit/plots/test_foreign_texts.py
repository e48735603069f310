"""Texts of a run file that would be active in a picture or a page: somebody else may have written
the file."""

import json
import re
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree as ET

import pytest

from halftrip.page import html
from halftrip.plots import writing
from halftrip.registry import PLOTS
from halftrip.results.run_file import load
from harness.charts import charts_of, subject
from harness.choice import extended
from harness.pages import page_of

GOLDEN = Path(__file__).parents[2] / "golden/formats/1.jsonl"
FOREIGN = (
    '"><script>alert(1)</script><img src=x onerror=alert(1)>\' onload="x" javascript:alert(1) '
    "http://e.invalid/a.png url(http://e.invalid) ]]>&amp;"
)
# What has a few words only, and a date.
WORDS = {
    *("record", "started", "acts", "buffers", "cache", "counted", "datatype", "device_copy"),
    *("direction", "family", "kind", "mode", "object", "pages", "pattern", "phase", "places"),
    *("protocol", "socket", "stopped", "touch", "wait"),
}
ACTIVE = {"a", "animate", "foreignObject", "iframe", "image", "script", "set", "style", "use"}


def foreign(value):
    """The value with that in front of every text."""
    if isinstance(value, dict):
        return {key: each if key in WORDS else foreign(each) for key, each in value.items()}
    if isinstance(value, list):
        return [foreign(each) for each in value]
    return FOREIGN + value if isinstance(value, str) else value


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A run of every kind of record, in which every text that may be any is that."""
    path = tmp_path_factory.mktemp("foreign") / "run.jsonl"
    lines = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    changed = [each if each["record"] == "device-copy" else foreign(each) for each in lines]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in changed))
    run = load(path)
    assert run.problems == load(GOLDEN).problems
    assert run.environments[0].host.startswith(FOREIGN)
    assert run.measurements[0].configuration.transport.startswith(FOREIGN)
    return run


def active(svg):
    """What a viewer would run or load, and whether the text is there."""
    found = []
    for element in ET.fromstring(svg).iter():
        name = element.tag.rpartition("}")[2]
        found += [name] * (name in ACTIVE)
        for key, value in element.attrib.items():
            attribute = key.rpartition("}")[2].lower()
            loads = attribute in ("href", "src") or (
                attribute != "aria-label" and "url(" in value.replace("url(#", "")
            )
            found += [f"{attribute}={value}"] * (loads or attribute.startswith("on"))
    return found


@pytest.mark.parametrize(
    "kind", ["samples", *extended(*(each for each in PLOTS if each != "samples"))]
)
def test_texts_are_nothing_but_texts_in_pictures(hostile, kind):
    charts = charts_of(kind, [subject(hostile, FOREIGN)])
    for chart in charts[:1] if kind == "samples" else charts:
        svg = writing.picture([chart], "svg", "light").decode()
        assert "script" in svg
        assert active(svg) == []


@pytest.mark.parametrize("made", ["report", *extended("pictures")])
def test_texts_are_nothing_but_texts_in_pages(hostile, made):
    with mock.patch("halftrip.page.html.bundle", return_value=""):
        page = (
            page_of(hostile)
            if made == "report"
            else html.of_charts(FOREIGN, charts_of("samples", [subject(hostile, FOREIGN)]))
        )
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "alert(1)" in outside
    for words in ("<script>alert", "<img", "</script>", '" onload'):
        assert words not in outside
    assert not re.search(r"""(?:src|href)=["']?(?:http|javascript)""", outside)
