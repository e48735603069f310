"""The refusals that capabilities give: each rule at its limit and just beyond."""

import pytest

from halftrip.errors import UsageError
from halftrip.plan.parsing import count
from halftrip.plan.setting import Setting, of_extra
from halftrip.plan.settings import SETTINGS
from halftrip.results.configuration import EndSettings
from halftrip.transports.capabilities import Capabilities
from harness.runs import configuration

ABLE = Capabilities(
    patterns={
        "blocking": ("pingpong", "stream"),
        "nonblocking": ("pingpong",),
        "onesided": ("put",),
    },
    waits=("block", "spin"),
    no_other_wait="there is no other way to wait",
    no_mode={"ssend": "nothing tells when a message is received"},
    no_pattern={"pingping": "both would wait for ever"},
    memories=("host", "pinned"),
    settings={"datatype": ("byte", "vector")},
    rated=("stream",),
    delayed=("pingpong", "stream"),
    smallest=2,
    too_small="two bytes at least",
    largest=100,
    too_large="a hundred bytes at most",
    no_verify="nothing to look at",
)


def able(pattern="pingpong", size=8, **fields):
    """A configuration that the transport `t` can do, unless the fields say otherwise."""
    return configuration("t", size, pattern=pattern, **fields)


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"size": 1}, "t has no messages below 2 bytes"),
        ({"size": 101}, "t has no messages above 100 bytes"),
        ({"wait": "spin"}, "--wait spin: t has block"),
    ],
)
def test_a_limit_without_a_text_of_its_own_is_a_limit(fields, refusal):
    patterns = {"blocking": ("pingpong",)}
    plain = Capabilities(patterns, ("block",), smallest=2, largest=100)
    assert plain.refusal(able(**({"wait": "block"} | fields))) == refusal
    unlimited = Capabilities(patterns, ("block", "spin"))
    assert unlimited.refusal(able(verify=True, **fields)) is None


ONE_SIDED = {"pattern": "put", "mode": "onesided"}


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        # Patterns and modes.
        ({"pattern": "exchange"}, "t has no exchange, only pingpong, stream, put"),
        ({"pattern": "pingping"}, "both would wait for ever"),
        ({"mode": "ssend"}, "nothing tells when a message is received"),
        ({"mode": "persistent"}, "t has no persistent calls, only blocking, nonblocking, onesided"),
        ({"pattern": "get", "mode": "onesided"}, "t has no get, only pingpong, stream, put"),
        ({"mode": "onesided"}, "no onesided pingpong, only put"),
        ({"pattern": "stream", "mode": "nonblocking"}, "no nonblocking stream, only blocking"),
        # Sizes.
        ({"size": 2}, None),
        ({"size": 1}, "two bytes at least"),
        ({"size": 100}, None),
        ({"size": 101}, "a hundred bytes at most"),
        # Buffers.
        ({"buffers": "same"}, None),
        ({"buffers": "same", "pattern": "stream"},
         "--buffers same: only a ping-pong in turn sends from the buffer that it receives into"),
        # Other settings.
        ({"datatype": "contiguous"}, "--datatype contiguous: only MPI has datatypes"),
        ({"rate": 1e6, "pattern": "stream"}, None),
        ({"rate": 1e6}, "--rate: only a stream of udp has one"),
        ({"delay": 1000}, None),
        ({"delay": 1000, "pattern": "stream", "window": 8}, None),
        (ONE_SIDED | {"delay": 1000}, "--delay: only a blocking pingpong or stream has one"),
        ({"verify": True}, "--verify: nothing to look at"),
        ({"pages": "huge"}, None),
        (ONE_SIDED | {"pages": "huge"}, "--pages huge: a window has pages of the default size"),
        (ONE_SIDED | {"touch": "untimed"}, None),
        (ONE_SIDED | {"touch": "timed", "concurrency": 2}, None),
        ({"touch": "timed"},
         "--touch timed: only put and get leave the peer's memory to be touched"),
        (ONE_SIDED | {"touch": "untimed", "concurrency": 2},
         "--touch untimed: pairs that talk at once have no untimed moment in common"),
        # The widest reason comes first.
        ({"pattern": "exchange", "size": 101, "verify": True},
         "t has no exchange, only pingpong, stream, put"),
        ({"size": 101, "verify": True}, "--verify: nothing to look at"),
    ],
)  # fmt: skip
def test_each_rule_at_its_limit_and_beyond(fields, refusal):
    assert ABLE.refusal(able(**fields)) == refusal


@pytest.mark.parametrize("end", ["initiator", "responder"])
@pytest.mark.parametrize(
    ("settings", "fields", "refusal"),
    [
        ({"wait": "spin"}, {}, None),
        ({"wait": "block", "memory": "pinned", "pages": "huge"}, {}, None),
        ({"wait": "poll"}, {}, "--wait poll: there is no other way to wait"),
        ({"wait": "spin", "memory": "cuda"}, {}, "--memory cuda: t has host, pinned"),
        ({"wait": "spin", "pages": "huge"}, ONE_SIDED,
         "--pages huge: a window has pages of the default size"),
    ],
)  # fmt: skip
def test_each_end_s_own_settings_count(end, settings, fields, refusal):
    assert ABLE.refusal(able(**fields, **{end: EndSettings(**settings)})) == refusal


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"objects": ("bytes",)}, "objects: no such setting; allowed: datatype, object, "),
        ({"wait": ("spin",)}, "wait: no such setting"),
        ({"object": ()}, "object: it stands there with values, the default first"),
        ({"congestion": ("cubic",)}, "congestion: it stands there without values"),
    ],
)
def test_a_plug_in_s_settings_that_cannot_be_are_one_line(settings, why):
    wrong = Capabilities({"blocking": ("pingpong",)}, ("block",), settings=settings)
    with pytest.raises(UsageError, match=f"^Capabilities.settings: {why}"):
        assert wrong.choices


def test_values_of_a_setting_may_be_numbers(monkeypatch):
    depth = Setting("depth", count, "How deep.", place="extra", values=of_extra, kind="whole")
    monkeypatch.setattr("halftrip.transports.capabilities.in_place", lambda *_: [depth])
    known = {**SETTINGS, "depth": depth}
    monkeypatch.setattr("halftrip.transports.capabilities.SETTINGS", known)
    deep = ABLE._replace(settings={"depth": (1, 2)})
    assert deep.refusal(able(extra=(("depth", 2),))) is None
    assert deep.refusal(able(extra=(("depth", 3),))) == "--depth 3: t has 1, 2"
    # The transport's own way, as of runs that are older than the setting.
    assert deep.refusal(able()) is None
