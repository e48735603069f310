"""Every sample of another tool's output can be shown in every format, and says where it is from."""

import csv
import io
import json

import pytest

from halftrip.registry import FORMATS
from halftrip.report.document import document
from harness.samples import SAMPLES, measured, read

_PATHS = sorted(SAMPLES.glob("*/*.txt"))


@pytest.mark.parametrize("path", _PATHS, ids=[f"{p.parent.name}-{p.stem}" for p in _PATHS])
def test_it_is_shown(path, tmp_path):
    run = read(path.read_bytes(), tmp_path)
    points = {each.configuration for each in measured(path.read_bytes())}
    assert {source.tool for source in run.sources} == {path.parent.name}
    content = document(run)
    assert len(content.rows) == len(points)
    for name in ("csv", "json", "markdown", "latex"):
        assert FORMATS.load(name)(content)
    rows = list(csv.DictReader(io.StringIO(FORMATS.load("csv")(content))))
    sizes = {"" if point.known_size is None else str(point.size) for point in points}
    assert {row["size_bytes"] for row in rows} == sizes
    json.loads(FORMATS.load("json")(content))
