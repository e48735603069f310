"""``halftrip plot``: titles, notes and sizes of pictures."""

import json

import pytest

from halftrip.cli.plot import plot
from halftrip.errors import UsageError
from harness import runs


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A run of one size, and one of two, of two paths."""
    monkeypatch.chdir(tmp_path)
    for name, sizes in (("one.jsonl", (8,)), ("two.jsonl", (8, 64))):
        measured = [runs.measurement(path, size) for path in ("shm", "tcp") for size in sizes]
        runs.save(runs.run(*measured), tmp_path / name)
    return ["one.jsonl"], ["two.jsonl"]


def spec_of(capsys, *arguments, **options):
    plot(*arguments, spec=True, **options)
    return json.loads(capsys.readouterr().out)


def test_one_chart_has_the_title_and_several_have_it_above(files, capsys):
    one, two = files
    spec = spec_of(capsys, one, title="A title", notes="no", size="400x150")
    assert spec["title"] == {"text": "A title"}
    assert (spec["width"], spec["height"]) == (400, 150)
    spec = spec_of(capsys, two, title="Both", notes="short")
    assert spec["title"] == "Both"
    titles = [each["title"] for each in spec["concat"]]
    assert [each["text"].rpartition(" of ")[2] for each in titles] == ["8 B", "64 B"]
    usual = spec_of(capsys, two)["concat"][0]["title"]["subtitle"]
    assert titles[0]["subtitle"] == usual[: len(titles[0]["subtitle"])] != usual
    plot(two, title="Both", notes="no")
    first, _, title, bar, *_ = capsys.readouterr().out.splitlines()
    assert (first, title) == ("Both", "One-way latency: pingpong of 8 B")
    assert bar.startswith("shm ")


def test_a_size_is_two_lengths_of_a_picture(files):
    one, _ = files
    for size in ("300", "300x", "0x300", "5000x300", "300 x 300", "-1x3"):
        with pytest.raises(UsageError, match=r"^--size: .*: 50x50 to 4000x4000$"):
            plot(one, output="a.svg", size=size)
    for output in (None, "a.html"):
        with pytest.raises(UsageError, match=r"^--size: .*; only with --output"):
            plot(one, output=output, size="300x300")
    with pytest.raises(UsageError, match=r"^--notes: 'none' is not known"):
        plot(one, notes="none")
