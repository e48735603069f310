"""Hosts of which all send to one, and each to another, at the same time."""

import pytest

from halftrip.analysis.congestion import together
from halftrip.report.document import document
from halftrip.views.screen import first_screen
from harness.screens import text
from lab.hosts import FIRST

pytestmark = pytest.mark.extended

RATE = 100_000_000


def test_who_sends_to_the_first_host_with_all_others_waits(three, shell):
    """Each link has 100 Mbit/s: of incast, two share one, and each has half of it."""
    for host in three.hosts:
        three.queue(host, RATE, 200_000)
    short = ("--time", "150ms", "--slices", "6", "--launches", "1", "--ci", "none", "--retest", "0")
    prefix = (*FIRST, *three.hosts[0].prefix())
    result = shell.measure("congestion", "--pairs-seed", "3", *short, *three.by_ssh, prefix=prefix)
    assert result.run.failures == result.run.skips == ()
    assert result.run.header.plan["pairs_seed"] == 3
    found = together(document(result.run).rows)
    # Incast and pairs at random, of latency and of bandwidth.
    assert sorted(len(each.rows) for each in found) == [2, 2, 3, 3]
    for each in found:
        factors = [one.factor.value for one in each.rows]
        if not each.setting.is_rate:
            assert min(factors) > 3
        elif len(factors) == 2:
            # One has done before the other, and TCP does not share evenly.
            assert 0.8 < sum(1 / factor for factor in factors) < 1.6
    shown = " ".join(text(first_screen, result.run).split())
    assert f"incast to {three.hosts[0].name}, 2 pairs at once" in shown
