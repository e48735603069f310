"""How UCX sends messages in a device's memory, by what its library says that it takes."""

from types import SimpleNamespace

import pytest

from halftrip.plan.configurations import settings
from halftrip.plan.plan import Plan
from halftrip.transports.base import ProcessContext
from halftrip.transports.native import ucx
from harness.runs import configuration

NOT, STAGES, AS_IT_IS = "does not take it", "are staged", "takes it as it is"


@pytest.mark.parametrize(
    ("asked", "memory", "takes", "api", "direct", "staged"),
    [
        ((), "host", False, "tag", None, None),
        ((), "cuda", False, "tag", STAGES, None),
        ((), "cuda", True, "tag", None, AS_IT_IS),
        ((), "cuda", True, "am", "arrive in the host's memory", None),
        (("none", "whole"), "cuda", False, "tag", f"{NOT}; -t ucx --staging whole", None),
        (("none", "whole"), "cuda", True, "tag", None, None),
    ],
)
def test_what_the_library_does_not_take_is_staged(
    monkeypatch, asked, memory, takes, api, direct, staged
):
    monkeypatch.setattr(ucx, "library", lambda _: SimpleNamespace(version="1.13.1"))
    monkeypatch.setattr(ucx, "_memory_types", lambda _: 3 if takes else 1)
    plan = Plan(transport=("ucx",), memory=(memory,), staging=asked)
    transport = ucx.UcxTransport(ProcessContext.from_plan(plan, 0, ""))
    pair = SimpleNamespace(end_of=lambda each: each.initiator)
    extra = (("ucx_api", api),)
    for staging, reason in ((None, direct), (0, staged)):
        one = configuration("ucx", memory=memory, extra=extra, staging=staging)
        found = transport.obstacle(one, pair)
        assert (found is None) if reason is None else reason in found
    expanded = settings(plan, {"ucx": transport.capabilities.choices})
    assert {each.staging for each in expanded} == ({None} if memory == "host" else {None, 0})
