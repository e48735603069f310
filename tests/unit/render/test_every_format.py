"""Every view has every format."""

import csv
import io
import json

import pytest

from halftrip.analysis.compared_run import ComparedRun
from halftrip.analysis.comparison import compare
from halftrip.analysis.history import history
from halftrip.analysis.loop_ratios import LoopRatio, LoopRow, Ratio
from halftrip.analysis.run_figures import run_figures
from halftrip.cli.compare import compare as compare_command
from halftrip.cli.output import VIEW_FORMATS, put_view
from halftrip.errors import UsageError
from halftrip.registry import VIEWS
from halftrip.render.blocks import Column, View, table
from halftrip.report.document import document
from halftrip.results.run_file import load
from halftrip.stats.estimate import Estimate
from halftrip.telemetry.doctor import Check
from halftrip.views import compare as compare_view
from halftrip.views import details, models, screen, side_by_side
from halftrip.views.doctor import doctor, loops
from halftrip.views.history import history as history_view
from harness import runs
from harness.files import ROOT

RUN = load(ROOT / "tests/golden/formats/1.jsonl")


def of_run(view):
    return lambda: view(document(RUN))


def of_loops():
    ratio = LoopRatio(
        LoopRow("pipe", "pingpong", 8), 100.0, 102.0, Ratio(1.02, 1.0, 1.04), None, 12
    )
    return loops([ratio], {"mpi": "no mpiexec"})


EVERY = {
    "first screen": of_run(screen.first_screen),
    "rows": of_run(details.in_short),
    **{name: of_run(VIEWS.load(name)) for name in VIEWS.built_in},
    "side by side": lambda: side_by_side.side_by_side([document(RUN)] * 2, ["a", "b"]),
    "models": lambda: models.models(models.fitted(RUN, models.MODELS, lambda _: True)),
    "compare": lambda: compare_view.compare(
        compare(ComparedRun.of(RUN, "a"), [ComparedRun.of(RUN, "b")]), True
    ),
    "history": lambda: history_view(history([run_figures("a", RUN)]), True, True),
    "loops": of_loops,
    "doctor": lambda: doctor([Check("governor", "warning", "powersave\non all", "set it")]),
}


@pytest.mark.parametrize("name", EVERY)
def test_every_view_has_every_format(name, capsys):
    view = EVERY[name]()
    for format_ in VIEW_FORMATS:
        put_view(view, format_)
        said = capsys.readouterr().out
        match format_:
            case "json":
                assert json.loads(said) is not None
            case "csv":
                heading, *lines = csv.reader(io.StringIO(said)) if said else [[]]
                assert len(set(heading)) == len(heading)
                assert all(len(line) == len(heading) for line in lines)
            case "latex":
                assert said.count("\\begin") == said.count("\\end") - said.count("\\endhead")
            case "html":
                assert said.startswith("<!DOCTYPE html>")
                assert f"<title>{view.title}</title>" in said
                assert view.title
            case _:
                assert said.isprintable() or "\n" in said


def test_what_a_check_found_and_its_advice_are_told_apart(capsys):
    view = EVERY["doctor"]()
    found = []
    for format_ in ("markdown", "latex"):
        put_view(view, format_)
        found.append(capsys.readouterr().out)
    assert found[0] == "- governor **warning**: powersave; on all; set it\n"
    assert "\\item governor \\textbf{warning}: powersave; on all; set it\n" in found[1]


def test_objects_within_a_record_are_json_in_csv():
    from halftrip.render import csv as as_csv

    (_, (plain, whole)) = csv.reader(io.StringIO(as_csv.text([{"a": 1, "b": {"c": [None, "d"]}}])))
    assert (plain, json.loads(whole)) == ("1", {"c": [None, "d"]})


def test_a_table_without_records_of_its_own_is_records_with_values():
    columns = [
        Column("path", "", lambda line: line[0], is_text=True),
        Column("size", "bytes", lambda line: line[1]),
        Column("adds", "us", lambda line: "about 2", value=lambda line: line[2]),
        Column("95 %", "", lambda line: "± 3 %"),
    ]
    made = table(
        [("8", "1,024", Estimate(2.0, 1.5)), ("tcp", "-", Estimate(1.0, 0.5, 2.0))], columns
    )
    view = View([made.titled("Layers")])
    from halftrip.render import csv as as_csv
    from halftrip.render import json as as_json

    assert as_csv.render(view) == (
        "path,size_bytes,adds_us,adds_us_low,adds_us_high,95_percent\n"
        "8,1024,2.0,1.5,,± 3 %\n"
        "tcp,,1.0,0.5,2.0,± 3 %\n"
    )
    (found,) = json.loads(as_json.render(view))["tables"]
    assert found["title"] == "Layers"
    assert found["rows"][0]["adds_us_high"] is None
    several = as_csv.render(View([made, made]))
    assert several.startswith("table,path,")
    assert several.count("\n") == 5


def test_what_a_format_has_in_any_case_is_refused(tmp_path):
    paths = [str(runs.save(RUN, tmp_path / f"{name}.jsonl")) for name in "ab"]
    for changes, said in (
        ({"every": True, "format_": "csv"}, "--all: --format csv has all rows; leave it out"),
        ({"wide": True, "format_": "markdown"}, "--wide: --format markdown has all columns"),
    ):
        with pytest.raises(UsageError, match=said):
            compare_command(paths, **changes)
