"""A transport from another package with a setting of its own, of which halftrip has no line: all
that is made of settings has it."""

import csv
import io
import json
import sys

import jsonschema
import pytest

from halftrip.results.run_file import load
from harness.files import ROOT
from harness.packages import install_package
from harness.shell import opened_shell

SETTINGS = """
from halftrip.plan.parsing import count, several, some_of
from halftrip.plan.setting import Setting

FLAVOUR = Setting("flavour", some_of(("plain", "sharp")), "How messages taste: plain, sharp. "
                  "[plain]", says="How messages taste: plain or sharp")
DEPTH = Setting("depth", several(count), "How deep they are. [3]", standard=3, unit="bytes",
                kind="whole", says="How deep they are, bytes")
"""
# Sharp messages take a millisecond longer.
TRANSPORT = """
import time
from functools import partial

from halftrip.transports.native.stream import SocketPath, UnixTransport
from halftrip.transports.python.mp_pipe import MpPipePath, MpPipeTransport


class TastyTransport(MpPipeTransport):
    capabilities = MpPipeTransport.capabilities._replace(
        settings={"flavour": ("plain", "sharp"), "depth": ()}
    )

    def path(self, pair, settings):
        return TastyPath(SocketPath(UnixTransport(self.process), pair), pair)


class TastyPath(MpPipePath):
    def calls(self, configuration):
        calls, extra = super().calls(configuration), dict(configuration.extra)
        assert extra["depth"] in (3, 5)
        if extra["flavour"] == "sharp":
            send = calls.send
            calls.send = lambda message: partial(slowly, send(message))
        return calls


def slowly(send):
    time.sleep(1e-3)
    send()
"""
PLAN = """
transport = "tasty,pipe"
flavour = ["plain", "sharp"]
sizes = "8,64"
time = "5ms"
slices = 3

[[part]]
depth = 3

[[part]]
depth = 5
flavour = "plain"
"""


def installed(shell):
    """The environment in which the package is found."""
    return install_package(
        shell.directory,
        {"example_settings": SETTINGS, "example_tasty": TRANSPORT},
        {
            "halftrip.settings": {
                "flavour": "example_settings:FLAVOUR",
                "depth": "example_settings:DEPTH",
            },
            "halftrip.transports": {"tasty": "example_tasty:TastyTransport"},
        },
    )


@pytest.fixture(scope="module")
def tasty(tmp_path_factory):
    """A run of a plan with the settings, and what calls halftrip where they are installed."""
    with opened_shell(tmp_path_factory.mktemp("plug-in")) as shell:
        environment = installed(shell)
        (shell.directory / "plan.toml").write_text(PLAN)
        shell.measure("plan.toml", **environment, silent=True)

        def call(*words):
            made = shell.halftrip(*words, **environment)
            assert made.status == 0, made.err
            return made.out

        shell.call_with_plug_in = call
        shell.plug_in = environment
        yield shell


def tastes(rows):
    return [(row["flavour"], row["depth_bytes"]) for row in rows if row["transport"] == "tasty"]


# Of two sizes each, in the order of rows: by the settings, then by size.
EXPECTED = [(flavour, depth) for flavour, depth in
            (("plain", 3), ("sharp", 3), ("plain", 5)) for _ in range(2)]  # fmt: skip


def test_the_help_and_the_words_of_a_shell_have_it(tasty):
    said = tasty.call_with_plug_in("run", "--help")
    assert "--flavour NAME" in said
    assert "How messages taste: plain, sharp. [plain]" in said
    words = tasty.call_with_plug_in("completion", "words", "--", "run", "--flavour", "")
    assert words == "plain\t\nsharp\t\n"


def test_a_plan_and_its_parts_have_it_and_a_run_file_keeps_it_readable(tasty):
    header = json.loads(tasty.path.read_text().splitlines()[0])
    assert header["plan"]["flavour"] == ["plain", "sharp"]
    assert header["plan"]["part"] == [{"depth": [3]}, {"depth": [5], "flavour": ["plain"]}]
    found = load(tasty.path).by_configuration
    extras = {each.extra for each in found if each.transport == "tasty"}
    assert extras == {
        (("depth", 3), ("flavour", "plain")),
        (("depth", 3), ("flavour", "sharp")),
        (("depth", 5), ("flavour", "plain")),
    }
    assert {each.extra for each in found if each.transport == "pipe"} == {()}


def test_rows_in_every_format_have_it(tasty):
    made = json.loads(tasty.call_with_plug_in("show", "run.jsonl", "--format", "json"))
    assert tastes(made["rows"]) == EXPECTED
    assert all("flavour" not in row for row in made["rows"] if row["transport"] == "pipe")
    # The transport has it, too.
    assert all(row["latency_ns"] > 1e6 for row in made["rows"] if row.get("flavour") == "sharp")
    for words in (("show", "run.jsonl", "--format", "csv"),
                  ("export", "run.jsonl", "--to", "csv", "-o", "out")):  # fmt: skip
        text = tasty.call_with_plug_in(*words)
        if words[0] == "export":
            text = (tasty.directory / "out.csv").read_text()
        rows = list(csv.DictReader(io.StringIO(text)))
        assert set(tastes(rows)) == {(flavour, str(depth)) for flavour, depth in EXPECTED}
        assert {row["flavour"] for row in rows if row["transport"] == "pipe"} == {""}
    table = tasty.call_with_plug_in("show", "run.jsonl")
    assert "flavour" in table
    assert "sharp" in table


def test_metrics_the_page_and_comparisons_tell_rows_apart_by_it(tasty):
    tasty.call_with_plug_in("export", "run.jsonl", "--to", "openmetrics", "-o", "metrics.prom")
    assert "flavour sharp" in (tasty.directory / "metrics.prom").read_text()
    tasty.call_with_plug_in("report", "run.jsonl", "-o", "page.html")
    page = (tasty.directory / "page.html").read_text()
    assert "sharp" in page
    (tasty.directory / "again.jsonl").write_bytes(tasty.path.read_bytes())
    (made,) = json.loads(
        tasty.call_with_plug_in("compare", "run.jsonl", "again.jsonl", "--format", "json")
    )
    # Where the cores have moved, a row is compared in each state by itself.
    states = {(*taste, row["size_bytes"], row["state"])
              for row in made["rows"] for taste in tastes([row])}  # fmt: skip
    assert len(states) == len(tastes(made["rows"]))
    assert {found[:3] for found in states} == {
        (*each, size) for each in EXPECTED for size in (8, 64)
    }
    assert made["only_base"] == made["only_new"] == []


def test_the_schema_has_it(tasty):
    script = ROOT / "scripts" / "json_schema.py"
    made = tasty.execute(sys.executable, script, environment=tasty.plug_in)
    schema = json.loads(made.out)
    row = schema["$defs"]["Row"]
    assert row["properties"]["flavour"] == {
        "description": "How messages taste: plain or sharp.", "type": ["string", "null"]
    }  # fmt: skip
    assert "flavour" not in row["required"]
    shown = json.loads(tasty.call_with_plug_in("show", "run.jsonl", "--format", "json"))
    jsonschema.Draft202012Validator(schema).validate(shown)


def test_a_run_goes_on_with_it(tasty):
    path = tasty.directory / "resumed.jsonl"
    lines = tasty.path.read_text().splitlines(keepends=True)
    left_out = ('"flavour","sharp"', '"record":"end"')
    path.write_text("".join(each for each in lines if not any(word in each for word in left_out)))
    tasty.call_with_plug_in("run", "--resume", "resumed.jsonl")
    found = load(path)
    assert {each.launch for each in found.measurements} == {0, 1}
    assert found.by_configuration.keys() == load(tasty.path).by_configuration.keys()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-t", "tasty", "--flavour", "bitter"),
         "--flavour: 'bitter' is not known; allowed: plain, sharp"),
        (("-t", "shm", "--flavour", "sharp"), "--flavour: shm has no choice of it"),
        (("-t", "shm", "--depth", "4"), "--depth: shm has no choice of it"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(tasty, words, said):
    made = tasty.halftrip("run", "-s", "8", "-o", "never.jsonl", *words, **tasty.plug_in)
    assert (made.status, made.out, made.err) == (2, "", f"halftrip: {said}\n")


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("depth", "1 / 0",
         " (example_wrong:OWN) cannot be loaded: ZeroDivisionError: division by zero"),
        ("depth", "OWN = 1", ": no Setting of this name, or the name is one of halftrip's own"),
        ("resume",
         "from halftrip.plan.setting import Setting\nOWN = Setting('resume', str, 'Help.')",
         ": halftrip run has an option of this name already"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_a_mistake_in_one_line(shell, name, code, said):
    names = {"halftrip.settings": {name: "example_wrong:OWN"}}
    environment = install_package(shell.directory, {"example_wrong": code}, names)
    for words in (("run", "-t", "shm", "-s", "8"), ("run", "--help")):
        result = shell.halftrip(*words, **environment)
        assert (result.status, result.out) == (2, "")
        assert result.err == f"halftrip: halftrip.settings {name!r}{said}\n"
