"""Texts of a run file that would be active in a picture or a page: somebody else may have written
the file."""

import csv
import io
import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from halftrip.export import documents, gnuplot
from halftrip.page import html
from halftrip.plots import writing
from halftrip.registry import PLOTS
from halftrip.render import csv as csv_format
from halftrip.report.document import document
from halftrip.results.run_file import load
from harness.charts import charts_of, subject
from harness.choice import extended
from harness.need import need
from harness.pages import markdown_of, page_of

GOLDEN = Path(__file__).parents[2] / "golden/formats/1.jsonl"
FOREIGN = (
    '"><script>alert(1)</script><img src=x onerror=alert(1)>\' onload="x" javascript:alert(1) '
    "http://e.invalid/a.png url(http://e.invalid) ]]>&amp;"
)
# Of those who obey what is neither.
OTHERS_OBEY = (
    "'; system('touch a'); <b> ![a](javascript:a) `touch a` \\input{a}\\write18{touch a}^^5c "
    '$(touch a) \\" '
)
# What has a few words only, and a date.
WORDS = {
    *("record", "started", "acts", "buffers", "cache", "counted", "datatype", "device_copy"),
    *("direction", "family", "kind", "mode", "object", "pages", "pattern", "phase", "places"),
    *("protocol", "socket", "stopped", "touch", "wait"),
}
ACTIVE = {"a", "animate", "foreignObject", "iframe", "image", "script", "set", "style", "use"}


def foreign(value, text):
    """The value with that text in front of every one."""
    if isinstance(value, dict):
        return {key: each if key in WORDS else foreign(each, text) for key, each in value.items()}
    if isinstance(value, list):
        return [foreign(each, text) for each in value]
    return text + value if isinstance(value, str) else value


def run_of(path, text):
    """A run of every kind of record, in which every text that may be any is that."""
    lines = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
    changed = [each if each["record"] == "device-copy" else foreign(each, text) for each in lines]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in changed))
    run = load(path)
    assert run.problems == load(GOLDEN).problems
    assert run.environments[0].host.startswith(text)
    assert run.measurements[0].configuration.transport.startswith(text)
    return run


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return run_of(tmp_path_factory.mktemp("foreign") / "run.jsonl", FOREIGN)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """What is exported of such a run."""
    return document(run_of(tmp_path_factory.mktemp("others") / "run.jsonl", OTHERS_OBEY))


@pytest.fixture(scope="module")
def samples(hostile):
    """A chart of it."""
    return charts_of("samples", [subject(hostile, FOREIGN)])[0]


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


def test_there_is_nothing_but_a_picture_in_a_png(samples):
    content = writing.picture([samples], "png", "light")
    at, kinds = 8, set()
    while at < len(content):
        size, kind = struct.unpack_from("!I4s", content, at)
        kinds.add(kind)
        at += 12 + size
    assert {b"IHDR", b"IDAT", b"IEND"} <= kinds <= {b"IHDR", b"IDAT", b"IEND", b"pHYs", b"sRGB"}


def test_a_pdf_does_nothing(samples):
    content = writing.picture([samples], "pdf", "light")
    parts = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL)
    opened = [zlib.decompressobj().decompress(each) for each in parts if each[:1] == b"x"]
    assert opened
    for each in (content, *opened):
        assert not re.search(rb"/(JS|JavaScript|URI|Launch|OpenAction|EmbeddedFile|Annots)\b", each)


def test_markdown_has_neither_links_nor_elements(exported):
    (written,) = documents.markdown(exported).values()
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for text in (written, markdown_of(exported.run)):
        assert "touch a" in text
        tokens = reader.parse(text)
        inner = [each for token in tokens for each in token.children or ()]
        assert {each.type for each in (*tokens, *inner)}.isdisjoint(
            {"html_block", "html_inline", "link_open", "image", "s_open"}
        )


def test_latex_obeys_the_writer_alone(exported):
    (text,) = documents.latex(exported).values()
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert any("touch a" in line for line in lines)
    commands = set(re.findall(r"\\([A-Za-z]+|.)", "\n".join(lines)))
    assert commands <= {
        *("begin", "end", "toprule", "midrule", "bottomrule", "addlinespace", "endhead"),
        *("noindent", "par", "nopagebreak", "smallskip", "bigskip", "pm", "mu"),
        *("textbackslash", "textasciitilde", "textasciicircum", *"\\&%$#_{}"),
    }
    assert "^^" not in "".join(lines)


def test_gnuplot_does_nothing_but_draw(exported, tmp_path):
    found = shutil.which("gnuplot")
    need(found is not None, "gnuplot is missing: apt-get install gnuplot-nox")
    for ending, content in gnuplot.files(exported).items():
        (tmp_path / f"a{ending}").write_text(content)
    drawn = subprocess.run(
        [found, "a.gnuplot"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert drawn.returncode == 0, drawn.stderr
    assert {each.name for each in tmp_path.iterdir()} == {"a.gnuplot", "a.dat", "a.svg"}


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        *(
            (each, f"'{each}")
            for each in ("=1+1", "@a", "+1+1", "-1/A1", "-a", "-1+cmd|' /C a'!A0", "\t=a")
        ),
        *((each, each) for each in ("-", "-5 %", "+1.2e-3 us", "-2 MB/s", "a=1", "")),
        (-5.5, "-5.5"),
    ],
)
def test_a_spreadsheet_computes_nothing(value, cell):
    (line,) = csv.DictReader(io.StringIO(csv_format.text([{"a": value, "b": 1}])))
    assert line["a"] == cell


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
