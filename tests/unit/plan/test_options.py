"""The table of options: it makes the keys of plans, the command line, and docs/options.md."""

import re

import msgspec
import pytest
import typer

from halftrip.cli import app
from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, options_layer, plan_layer, python_layer
from halftrip.plan.option import GROUPS
from halftrip.plan.options import OPTIONS, STANDS_FOR
from halftrip.plan.plan import Plan, plan_record
from harness.files import ROOT, module

options_page = module("scripts/options_page.py")

# What concerns a run that exists already is no key of a plan.
OF_A_RUN = {"resume", "again", "against", "base_env", "base_mpiexec", "base_command"}
OF_THE_USER = {"no_config"}
ON_THE_COMMAND_LINE = {name for name, option in OPTIONS.items() if option.help}


def parameters():
    """The parameters of the command `halftrip run`, by name."""
    command = typer.main.get_command(app).get_command(None, "run")
    return {parameter.name: parameter for parameter in command.params}


def test_every_key_of_a_plan_is_an_option_and_the_other_way_round():
    keys = {field.name for field in msgspec.structs.fields(Plan)}
    assert set(OPTIONS) - set(STANDS_FOR) == keys
    assert set(STANDS_FOR.values()) <= keys


@pytest.mark.parametrize("name", sorted(ON_THE_COMMAND_LINE))
def test_forms_and_help_on_the_command_line(name):
    option, parameter = OPTIONS[name], parameters()[name]
    long = f"--{name.replace('_', '-')}"
    assert parameter.opts == [*option.short, long]
    assert option.group in GROUPS
    negative = [f"--no-{name.replace('_', '-')}"] if option.negatable else []
    assert parameter.secondary_opts == negative
    assert parameter.is_flag == option.is_flag
    assert parameter.help == option.help


@pytest.mark.parametrize("name", sorted(set(OPTIONS) & {
    "pattern", "sizes", "perturb", "buffers", "memory", "pages", "cache", "datatype", "timeout",
    "ci", "time", "slices", "launches", "max_launches", "pairs", "threads",
}))  # fmt: skip
def test_the_default_in_the_help_is_that_of_a_plan(name):
    default = OPTIONS[name].help.rpartition("[")[2].rstrip("]")
    assert OPTIONS[name].read(default) == getattr(Plan(), name)


def test_the_page_of_options_is_made_from_the_table():
    """If not: .venv/bin/python scripts/options_page.py > docs/options.md"""
    assert (ROOT / "docs" / "options.md").read_text() == options_page.page()


# Settings of each end.


@pytest.mark.parametrize(
    ("option", "text", "read"),
    [
        ("wait", "spin", ("spin",)),
        ("wait", "spin:block", ("spin:block",)),
        ("wait", "spin:spin", ("spin",)),
        ("wait", "block, spin:block", ("block", "spin:block")),
        ("wait", ["spin", "block:spin"], ("spin", "block:spin")),
        ("wait", ("spin", "spin:spin"), ("spin",)),
        ("memory", "host:host", ("host",)),
        ("pages", "4K:huge", ("4K:huge",)),
        ("pages", "huge,4K:huge,4K", ("huge", "4K:huge", "4K")),
    ],
)
def test_settings_of_each_end_are_read(option, text, read):
    plan = make_plan(python_layer({option: text}))
    assert getattr(plan, option) == read
    # And from the record in a run file, and from a Plan in Python.
    record = plan_record(plan)
    assert record[option] == list(read)
    assert getattr(make_plan(python_layer(record)), option) == read
    assert make_plan(plan_layer(plan)) == plan


# Sockets.


@pytest.mark.parametrize(
    ("option", "text", "read"),
    [
        ("socket_buffer", "64K", (65536,)),
        ("socket_buffer", "system,1M,0", (0, 1 << 20)),
        ("socket_buffer", 4096, (4096,)),
        ("congestion", "cubic,system", ("cubic", "system")),
        ("mss", "1000,system", (1000, 0)),
        ("mss", [88, 32767], (88, 32767)),
        ("dscp", "EF,af11,CS1,7", (46, 10, 8, 7)),
        ("dscp", 63, (63,)),
        ("busy_poll", "50us,0.1ms,20", (50, 100, 20)),
        ("busy_poll", "system", (0,)),
        ("streams", "1,4,64", (1, 4, 64)),
        ("zerocopy", [False, True], (False, True)),
        ("nodelay", True, (True,)),
        ("nodelay", [True, False, True], (True, False)),
    ],
)
def test_settings_of_sockets_are_read(option, text, read):
    plan = make_plan(python_layer({option: text}))
    assert getattr(plan, option) == read
    # And from the record in a run file, and from a Plan in Python.
    record = msgspec.json.decode(msgspec.json.encode(plan_record(plan)))
    assert make_plan(python_layer(record)) == plan
    assert make_plan(plan_layer(plan)) == plan


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("socket_buffer", "2G", "'2G' is too much for a socket; at most 1G, or system"),
        ("socket_buffer", "much", "'much' is not a size"),
        ("congestion", "../cubic", "'../cubic' is no name of an algorithm"),
        ("congestion", "a" * 16, "is no name of an algorithm"),
        ("mss", "87", "'87' is no segment that Linux has; 88 to 32767 bytes, or system"),
        ("mss", "32768", "'32768' is no segment that Linux has"),
        ("dscp", "64", "64 is too large for a code point; at most 63"),
        ("dscp", "-1", "'-1' is no code point"),
        ("dscp", "CS8", "'CS8' is no code point"),
        ("busy_poll", "2s", "'2s' is too long to poll; at most 1s"),
        ("busy_poll", "0.5us", "'0.5us' is not a whole number of microseconds"),
        ("busy_poll", "soon", "'soon' is not a time"),
        ("streams", "0", "0 is too few; at least 1"),
        ("streams", "65", "65 is too many; at most 64"),
        ("nodelay", "perhaps", "'perhaps' is neither true nor false"),
    ],
)
def test_other_settings_of_sockets_are_refused(option, text, said):
    with pytest.raises(UsageError, match=f"^--{option.replace('_', '-')}: .*{re.escape(said)}"):
        make_plan(options_layer({option: text}))


# Pairs.


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("halves", "halves"),
        ("across", "across"),
        ("0-1", ((0, 1),)),
        ("3-0, 1-2", ((3, 0), (1, 2))),
        (["0-3", "1-2"], ((0, 3), (1, 2))),
        ([[0, 3], [1, 2]], ((0, 3), (1, 2))),
        (((0, 3), (1, 2)), ((0, 3), (1, 2))),
    ],
)
def test_pairs_are_a_rule_or_a_list(text, pairs):
    plan = make_plan(python_layer({"pairs": text, "ranks": 4}))
    assert plan.pairs == pairs
    # And from the record in a run file, whose tuples are lists, and from a Plan in Python.
    record = msgspec.json.decode(msgspec.json.encode(plan_record(plan)))
    assert make_plan(python_layer(record)) == plan
    assert make_plan(plan_layer(plan)) == plan


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "thirds",
            "'thirds' is not known; allowed: halves, neighbours, reciprocal, all, across, or",
        ),
        ("0-1,all", "'all' is not known"),
        ("0-", "'0-' is not known"),
        ("0-1-2", "'0-1-2' is not known"),
        ("-1-2", "'-1-2' is not known"),
        ("", "'' is not known"),
        ("2-2", "'2-2' is one rank; a pair has two"),
        ("0-1,0-1", "'0-1,0-1' has a pair twice"),
        ("0-1,1-0", "'0-1,1-0' has a pair twice"),
    ],
)
def test_other_pairs_are_refused(text, said):
    with pytest.raises(UsageError, match=f"^--pairs: {said}"):
        make_plan(options_layer({"pairs": text}))
