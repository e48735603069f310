"""Objects that are chosen by name: built-in ones, and entry points of other packages."""

import importlib.metadata
import sys

import pytest

from halftrip import entries
from halftrip.analysis.layers import below, partners, related
from halftrip.analysis.rows import rows
from halftrip.cli.plot import plot
from halftrip.cli.show import ShowRequest, show_runs
from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, options_layer
from halftrip.registry import (
    DEFAULT_TRANSPORTS,
    FORMATS,
    LAUNCHERS,
    MEMORIES,
    PLOTS,
    SIMULATED,
    TRANSPORTS,
    VIEWS,
    needing,
)
from halftrip.transports.base import Transport
from halftrip.transports.refusals import check_possible
from harness import bench, runs

REGISTRIES = (TRANSPORTS, MEMORIES, LAUNCHERS, FORMATS, PLOTS, VIEWS)

MODULE = """
from halftrip.entries import TransportEntry
from halftrip.transports.simulated import SimulatedTransport

class ExampleTransport(SimulatedTransport):
    pass

LAYERED = TransportEntry("example_plug_in:ExampleTransport", needs="mpi", built_on="example")

def render(document):
    return f"{len(document.rows)} rows\\n"

def plot(subjects):
    from halftrip.registry import PLOTS
    return [each._replace(title="Mine") for each in PLOTS.load("latency")(subjects)]
"""
ENTRY_POINTS = """
[halftrip.transports]
example = example_plug_in:ExampleTransport
tcp = example_plug_in:ExampleTransport
lost = no_such_module:Transport
layered = example_plug_in:LAYERED

[halftrip.plots]
mine = example_plug_in:plot

[halftrip.formats]
count = example_plug_in:render
broken = example_plug_in:no_such_function
"""


def forget_plug_ins():
    """Entry points are read once per registry, directories once by all."""
    entries._may_have_plug_ins.cache_clear()
    for each in REGISTRIES:
        vars(each).pop("_plug_ins", None)


@pytest.fixture
def plug_ins(tmp_path, monkeypatch):
    """A package that offers a transport and a style, as if it were installed."""
    (tmp_path / "example_plug_in.py").write_text(MODULE)
    information = tmp_path / "example_plug_in-1.0.dist-info"
    information.mkdir()
    metadata = "Metadata-Version: 2.1\nName: example-plug-in\nVersion: 1.0\n"
    (information / "METADATA").write_text(metadata)
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    forget_plug_ins()
    monkeypatch.syspath_prepend(tmp_path)
    yield
    forget_plug_ins()


@pytest.fixture
def no_entry_points(monkeypatch):
    """Looking at entry points is an error."""

    def entry_points(**_):
        raise AssertionError("entry points were read")

    forget_plug_ins()
    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    monkeypatch.setattr(entries, "have_plug_ins", lambda _: True)
    yield
    forget_plug_ins()


def test_built_in_transports_are_transports_on_others_that_are_there():
    assert all(issubclass(TRANSPORTS.load(name), Transport) for name in TRANSPORTS.built_in)
    names = tuple(TRANSPORTS.built_in)
    # The help of --transport says how many of the first are the default.
    assert names[: len(DEFAULT_TRANSPORTS)] == DEFAULT_TRANSPORTS
    assert names[-1] == SIMULATED
    built_on = {name: TRANSPORTS.entry(name).built_on for name in TRANSPORTS.built_in}
    assert set(filter(None, built_on.values())) <= set(TRANSPORTS.built_in)


@pytest.mark.parametrize("what", ["mpi", "dragon"])
def test_transports_that_need_something_are_those_that_ask_for_it(what):
    process = bench.process(**{f"no_{what}": "not here"})
    asking = [
        name
        for name in TRANSPORTS.built_in
        if TRANSPORTS.load(name)(process).missing(bench.pair()) == "not here"
    ]
    assert asking == needing(what)
    assert len(asking) == 3


def test_built_in_names_do_not_read_entry_points(no_entry_points, tmp_path, capsys):
    for each in REGISTRIES:
        for number, name in enumerate(each.built_in):
            assert name in each
            assert each.load(name) is not None
            assert each.place(name) == (number, name)
    check_possible(make_plan(options_layer({"transport": "tcp", "sizes": "8", "wait": "spin"})))
    run = runs.run(runs.measurement("tcp"))
    path = runs.save(run, tmp_path / "run.jsonl")
    show_runs([str(path)], ShowRequest(format="csv"))
    assert capsys.readouterr().out.count("\n") == 2
    with pytest.raises(AssertionError, match="entry points were read"):
        list(TRANSPORTS)


def test_names_of_plug_ins_come_after_the_built_in_ones_and_replace_none(
    plug_ins, tmp_path, capsys
):
    assert list(TRANSPORTS) == [*TRANSPORTS.built_in, "example", "layered", "lost"]
    assert len(TRANSPORTS) == len(TRANSPORTS.built_in) + 3
    assert list(FORMATS) == [*FORMATS.built_in, "broken", "count"]
    assert list(LAUNCHERS) == list(LAUNCHERS.built_in)
    assert TRANSPORTS.load("tcp").__name__ == "TcpTransport"
    run = runs.run(runs.measurement("example"), runs.measurement("udp"), runs.measurement("mpi"))
    assert [row.configuration.transport for row in rows(run)] == ["mpi", "udp", "example"]
    show_runs([str(runs.save(run, tmp_path / "run.jsonl"))], ShowRequest(format="count"))
    assert capsys.readouterr().out == "3 rows\n"


def test_a_transport_of_a_plug_in_can_be_planned_and_says_what_it_needs_and_is_built_on(plug_ins):
    assert TRANSPORTS.load("example").__name__ == "ExampleTransport"
    check_possible(make_plan(options_layer({"transport": "example,tcp", "sizes": "8"})))
    put = make_plan(options_layer({"transport": "example", "pattern": "put", "mode": "blocking"}))
    with pytest.raises(UsageError, match="example has no put, only pingpong, stream"):
        check_possible(put)
    assert TRANSPORTS.load("layered") is TRANSPORTS.load("example")
    assert needing("mpi", ["tcp", "example", "layered"]) == ["layered"]
    assert below("layered") == ["example"]
    assert below("example") == below("lost") == below("nowhere") == []
    assert related(["layered", "tcp", "example"]) == ["layered", "example"]
    assert partners("example") == ["layered"]


def test_a_kind_of_picture_of_a_plug_in_can_be_drawn(plug_ins, tmp_path, capsys):
    path = runs.save(runs.run(runs.measurement()), tmp_path / "run.jsonl")
    plot([str(path)], kind="mine")
    assert capsys.readouterr().out.startswith("Mine\n")
    assert list(PLOTS) == [*PLOTS.built_in, "mine"]


@pytest.mark.parametrize(
    ("named", "name", "target", "problem"),
    [
        (TRANSPORTS, "lost", "no_such_module:Transport", "No module named 'no_such_module'"),
        (FORMATS, "broken", "example_plug_in:no_such_function",
         "module 'example_plug_in' has no attribute 'no_such_function'"),
    ],
)  # fmt: skip
def test_a_plug_in_that_cannot_be_imported_is_a_usage_error(plug_ins, named, name, target, problem):
    with pytest.raises(UsageError) as caught:
        named.load(name)
    said = f"{named.group} {name!r} ({target}) cannot be loaded: {problem}"
    assert str(caught.value) == said


def test_a_look_at_directories_says_whether_there_may_be_a_plug_in(plug_ins, tmp_path):
    assert entries.have_plug_ins(sys.path)
    (tmp_path / "other-1.0.dist-info").mkdir()
    (tmp_path / "example_plug_in-1.0.dist-info" / "entry_points.txt").write_text(
        "[console_scripts]\nhalftrip = example:main\n"
    )
    file = tmp_path / "packages.zip"
    assert not entries.have_plug_ins([str(tmp_path), str(file), ""])
    # Only importlib.metadata reads an archive.
    file.write_bytes(b"PK")
    assert entries.have_plug_ins([str(file)])
