"""A look at the machine before a run: whoever has the cores that it needs is named."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import msgspec

from halftrip.control.collectives import Group
from halftrip.control.network import host_identity
from halftrip.errors import HalftripError
from halftrip.job.limit import is_worthwhile
from halftrip.job.view import RunView
from halftrip.measure.placing import scheduled
from halftrip.plan.plan import Plan
from halftrip.telemetry import load, topology


class _Here(msgspec.Struct, frozen=True):
    """A rank of a job: its process, and the cores of its host as it sees them."""

    pid: int
    view: topology.CoreView


def look_before_launch(plan: Plan, ranks: int, view: RunView) -> None:
    """Warns of whoever has the cores that so many ranks would get. To be called before they are
    started: they are busy then."""
    _warn(plan, [topology.view(host_identity())] * ranks, (), view)


def look_in_job(plan: Plan, group: Group, view: RunView) -> None:
    """The same in a job that another launcher has started, for the host of rank 0. All ranks call
    it: meanwhile they sleep, and none of them counts."""
    if not group.broadcast(view.takes_warnings and is_worthwhile(plan), bool):
        return
    here = _Here(os.getpid(), topology.view(host_identity()))
    ranks: list[_Here] | None = group.gather(here, _Here)
    if ranks is None:
        time.sleep(load.LOOK_SECONDS)
        return
    own = [rank.pid for rank in ranks if rank.view.host == here.view.host]
    _warn(plan, [rank.view for rank in ranks], own, view)


def _warn(
    plan: Plan, views: Sequence[topology.CoreView], own: Sequence[int], view: RunView
) -> None:
    here = views[0].host
    allowed = {core.number for each in views if each.host == here for core in each.allowed}
    hosts = [each.host for each in views]
    try:
        _, chosen = scheduled(plan, views, hosts)
    except HalftripError:
        # The ranks find the same mistake, and tell it.
        return
    used = {
        place.core
        for each, threads in zip(views, chosen, strict=True)
        for place in threads
        if each.host == here and place.core is not None
    }
    # Without cores of their own, ranks may get any.
    used = used or allowed
    seen = load.look(own=own, cores=allowed)
    lines = seen.lines(used)
    if lines:
        view.warn([*lines, f"times will be longer, and vary: {seen.advice(used)}"])
