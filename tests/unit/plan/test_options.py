"""The table of options: it makes the keys of plans, the command line, and docs/options.md; and what
can be written in each, which is read from the record of a plan, too."""

import msgspec
import pytest

from halftrip.cli import command_line
from halftrip.plan.layers import make_plan, options_layer, plan_layer, python_layer
from halftrip.plan.memory import staging_bytes, staging_option
from halftrip.plan.options import GROUPS, OPTIONS, STANDS_FOR
from halftrip.plan.plan import Plan, plan_record
from halftrip.plan.settings import in_place
from halftrip.transports.refusals import check_possible
from harness.files import ROOT, module
from harness.plans import mistake

options_page = module("scripts/options_page.py")

ON_THE_COMMAND_LINE = {name for name, option in OPTIONS.items() if option.help}


def parameters():
    """The parameters of the command `halftrip run`, by name."""
    command = command_line().get_command(None, "run")
    return {parameter.name: parameter for parameter in command.params}


def test_every_key_of_a_plan_is_an_option_and_the_other_way_round():
    # Settings in the place `extra`, as those of plug-ins, are in one field.
    keys = {field.name for field in msgspec.structs.fields(Plan)} - {"extra"}
    keys |= {setting.name for setting in in_place("extra")}
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
    "ci", "time", "slices", "max_launches", "pairs", "threads",
}))  # fmt: skip
def test_the_default_in_the_help_is_that_of_a_plan(name):
    default = OPTIONS[name].help.rpartition("[")[2].rstrip("]")
    assert OPTIONS[name].read(default) == getattr(Plan(), name)


def test_the_page_of_options_is_made_from_the_table():
    """If not: make golden"""
    assert (ROOT / "docs" / "options.md").read_text() == options_page.page()


# What is read.


@pytest.mark.parametrize(
    ("option", "text", "read"),
    [
        # Settings of each end.
        ("wait", "spin:spin", ("spin",)),
        ("wait", "block, spin:block", ("block", "spin:block")),
        ("wait", ["spin", "block:spin"], ("spin", "block:spin")),
        ("pages", "huge,4K:huge,4K", ("huge", "4K:huge", "4K")),
        ("memory", "host:host", ("host",)),
        ("memory", "cuda@0:cuda@0, managed@1", ("cuda@0", "managed@1")),
        ("memory", "host,pinned:cuda@0,cuda@0:cuda@1", ("host", "pinned:cuda@0", "cuda@0:cuda@1")),
        ("memory", "cuda@0000:3b:00.0:cuda@3b:00.1", ("cuda@0000:3b:00.0:cuda@3b:00.1",)),
        ("memory", "cuda@GPU-0a1b2c3d:host", ("cuda@GPU-0a1b2c3d:host",)),
        # Settings of sockets.
        ("socket_buffer", "system,1M,0", (0, 1 << 20)),
        ("socket_buffer", 4096, (4096,)),
        ("congestion", "cubic,system", ("cubic", "system")),
        ("mss", "1000,system", (1000, 0)),
        ("mss", [88, 32767], (88, 32767)),
        ("dscp", "EF,af11,CS1,7", (46, 10, 8, 7)),
        ("dscp", 63, (63,)),
        ("busy_poll", "50us,0.1ms,20", (50, 100, 20)),
        ("streams", "1,4,64", (1, 4, 64)),
        ("zerocopy", [False, True], (False, True)),
        ("nodelay", True, (True,)),
        # Pairs are a rule or a list.
        ("pairs", "across", "across"),
        ("pairs", "3-0, 1-2", ((3, 0), (1, 2))),
        ("pairs", ["0-3", "1-2"], ((0, 3), (1, 2))),
        ("pairs", [[0, 3], [1, 2]], ((0, 3), (1, 2))),
        ("staging", "none,whole,chunk=512K", (None, 0, 524288)),
    ],
)
def test_what_can_be_written_is_read(option, text, read):
    plan = make_plan(python_layer({option: text, "ranks": 4}))
    found = getattr(plan, option)
    assert read == (tuple(map(staging_bytes, found)) if option == "staging" else found)
    # And from the record in a run file, whose tuples are lists, and from a Plan in Python.
    record = msgspec.json.decode(msgspec.json.encode(plan_record(plan)))
    assert make_plan(python_layer(record)) == plan
    assert make_plan(plan_layer(plan)) == plan


@pytest.mark.parametrize("read", [None, 0, 1, 100, 524288])
def test_a_staging_is_read_as_it_is_written(read):
    assert staging_bytes(staging_option(read)) == read


# What is refused.

NO_KIND = " is no kind of memory, nor two of them: KIND or KIND@DEVICE"


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("memory", "cuda@", f"'cuda@'{NO_KIND}"),
        ("memory", "host:", f"'host:'{NO_KIND}"),
        ("memory", "pinned:cuda@0000:3b:00.0:x", f"'pinned:cuda@0000:3b:00.0:x'{NO_KIND}"),
        ("memory", "host:gpu@0", "'gpu' is not known; allowed: host, pinned, cuda, managed"),
        ("memory", "cuda:host@gpu", "'host@gpu': host memory is of a NUMA node, as host@0, or"),
        ("memory_node", "0:1:2", "'0:1:2' is no NUMA node, nor two: 0, 0:1, or all"),
        ("memory_node", "-1", "'-1' is no NUMA node, nor two: 0, 0:1, or all"),
        ("staging", "512K", "'512K' is not none, whole or chunk=SIZE"),
        ("staging", "chunk=", "'chunk=' has no size; write it as chunk=512K"),
        ("staging", "whole,chunk=0", "'chunk=0': a chunk has at least one byte"),
        ("socket_buffer", "2G", "'2G' is too much for a socket; at most 1G, or system"),
        ("congestion", "../cubic", "'../cubic' is no name of an algorithm"),
        ("congestion", "a" * 16, f"'{'a' * 16}' is no name of an algorithm"),
        ("mss", "87", "'87' is no segment that Linux has; 88 to 32767 bytes, or system"),
        ("mss", "32768", "'32768' is no segment that Linux has"),
        ("dscp", "64", "64 is too large for a code point; at most 63"),
        ("dscp", "CS8", "'CS8' is no code point"),
        ("busy_poll", "2s", "'2s' is too long to poll; at most 1s"),
        ("busy_poll", "0.5us", "'0.5us' is not a whole number of microseconds"),
        ("streams", "65", "65 is too many; at most 64"),
        ("nodelay", "perhaps", "'perhaps' is neither true nor false"),
        ("pairs", "thirds", "'thirds' is not known; allowed: halves, neighbours, reciprocal, all,"),
        ("pairs", "0-1,all", "'all' is not known"),
        ("pairs", "0-1-2", "'0-1-2' is not known"),
        ("pairs", "", "'' is not known"),
        ("pairs", "2-2", "'2-2' is one rank; a pair has two"),
        ("pairs", "0-1,1-0", "'0-1,1-0' has a pair twice"),
    ],
)
def test_what_there_cannot_be_is_refused(option, text, said):
    found = mistake(lambda: make_plan(options_layer({option: text})))
    assert found.startswith(f"--{option.replace('_', '-')}: {said}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"transport": "tcp", "device_copy": "engine"}, "--device-copy: tcp has no choice of it"),
        (
            {"transport": "udp", "memory": "cuda", "staging": "whole"},
            "--staging: udp has no staged messages",
        ),
        (
            {"transport": "cuda-ipc", "memory": "cuda", "staging": "chunk=512K"},
            "--staging: cuda-ipc has no staged messages",
        ),
        (
            {"transport": "tcp", "memory": "pinned,host:managed", "staging": "none,chunk=4K"},
            "--staging: no end is in the memory of a device, as with --memory cuda",
        ),
        ({"transport": "cuda-ipc,tcp", "memory": "cuda", "device_copy": "engine"}, None),
        ({"transport": "tcp,udp", "memory": "host,cuda", "staging": "whole,chunk=512K"}, None),
        ({"transport": "tcp", "staging": "none"}, None),
    ],
)
def test_settings_that_nothing_of_the_plan_has_are_refused(options, said):
    plan = make_plan(options_layer({"sizes": "8"} | options))
    if said is None:
        check_possible(plan)
    else:
        assert mistake(lambda: check_possible(plan)) == said
