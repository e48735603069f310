"""How the memory of both ends, and the staging of messages in it, are written; what is wrong is one
line that says so."""

import pytest

from halftrip.errors import UsageError
from halftrip.plan.layers import make_plan, options_layer, python_layer
from halftrip.plan.memory import staging_bytes, staging_option
from halftrip.plan.plan import plan_record
from halftrip.transports.refusals import check_possible

NO_KIND = " is no kind of memory, nor two of them: KIND or KIND@DEVICE"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("cuda", ("cuda",)),
        ("cuda@0:cuda@0", ("cuda@0",)),
        ("host,pinned:cuda@0,cuda@0:cuda@1", ("host", "pinned:cuda@0", "cuda@0:cuda@1")),
        ("pinned:cuda@0000:3b:00.0", ("pinned:cuda@0000:3b:00.0",)),
        ("cuda@0000:3b:00.0:cuda@3b:00.1", ("cuda@0000:3b:00.0:cuda@3b:00.1",)),
        ("cuda@3b:00.0", ("cuda@3b:00.0",)),
        ("cuda@GPU-0a1b2c3d:host", ("cuda@GPU-0a1b2c3d:host",)),
        ("managed@1, managed@1", ("managed@1",)),
    ],
)
def test_memory_is_read(text, read):
    plan = make_plan(options_layer({"memory": text}))
    assert plan.memory == read
    # And from the record in a run file.
    assert make_plan(python_layer(plan_record(plan))).memory == read


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cuda@", f"'cuda@'{NO_KIND}"),
        ("@0", f"'@0'{NO_KIND}"),
        ("host:", f"'host:'{NO_KIND}"),
        (
            "pinned:cuda@0000:3b:00.0:x",
            f"'pinned:cuda@0000:3b:00.0:x'{NO_KIND}",
        ),
        ("gpu", "'gpu' is not known; allowed: host, pinned, cuda, managed"),
        ("host:gpu@0", "'gpu' is not known; allowed: host, pinned, cuda, managed"),
        ("cuda@0:host@1", "'host@1': host memory is of no device; host or pinned@1"),
    ],
)
def test_memory_that_there_cannot_be_is_refused(text, said):
    with pytest.raises(UsageError) as caught:
        make_plan(options_layer({"memory": text}))
    assert str(caught.value) == f"--memory: {said}"


@pytest.mark.parametrize(
    ("text", "read"),
    [("none", None), ("whole", 0), ("chunk=512K", 524288), ("chunk=1", 1), ("chunk=100", 100)],
)
def test_staging_is_read(text, read):
    assert staging_bytes(text) == read
    assert staging_bytes(staging_option(read)) == read


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("512K", "'512K' is not none, whole or chunk=SIZE"),
        ("chunk=", "'chunk=' has no size; write it as chunk=512K"),
        ("chunk=0", "'chunk=0': a chunk has at least one byte"),
    ],
)
def test_other_stagings_are_refused(text, said):
    with pytest.raises(UsageError) as caught:
        make_plan(options_layer({"staging": text}))
    assert str(caught.value) == f"--staging: {said}"


# With transports and memory that they do not go with.


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
    ],
)
def test_settings_that_nothing_of_the_plan_has_are_refused(options, said):
    with pytest.raises(UsageError) as caught:
        check_possible(make_plan(options_layer({"sizes": "8"} | options)))
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "options",
    [
        {"transport": "cuda-ipc,tcp", "memory": "cuda", "device_copy": "engine"},
        {"transport": "tcp,udp", "memory": "host,cuda", "staging": "whole,chunk=512K"},
        {"transport": "tcp", "staging": "none"},
    ],
)
def test_settings_that_something_of_the_plan_has_are_accepted(options):
    check_possible(make_plan(options_layer({"sizes": "8"} | options)))
