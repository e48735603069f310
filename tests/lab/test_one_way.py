"""One-way times between two hosts, whose clocks are really one: namespaces share the kernel's."""

import numpy as np
import pytest

from halftrip.analysis.one_way import LARGEST_SHARE, Clocks, one_way_times
from halftrip.report.rows import rows
from lab import sshd
from lab.hosts import FIRST
from lab.relay import Rule

pytestmark = pytest.mark.extended

WORK = ("-t", "tcp", "--wait", "spin", "--ci", "none", "--time", "60ms", "-r", 6)


def check_clocks(run):
    """The clocks were compared before and after all configurations, and the difference, which is
    none, is within the error at all times."""
    moments = [each.at for each in run.clock_comparisons]
    blocks = [block for m in run.measurements for block in m.blocks]
    assert min(moments) < min(block.start for block in blocks)
    assert max(moments) > max(block.end for block in blocks if block.end is not None)
    assert {tuple(each.ranks) for each in run.clock_comparisons} == {(1,)}
    clocks = Clocks(run)
    for block in blocks:
        reading = clocks.ahead(0, (0, 1), block.start)
        assert abs(reading.ahead) <= reading.error


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_large_messages_have_one_way_times_and_small_ones_have_none(lab, shell, mpi):
    run = lab.measure(shell, *WORK, "-s", "8,4M", mpi=mpi)
    check_clocks(run)
    small, large = rows(run)
    assert not small.one_way.is_known
    assert small.one_way.error > LARGEST_SHARE * small.summary.latency
    assert large.one_way.is_known
    assert large.one_way.error <= LARGEST_SHARE * large.summary.latency
    both = large.one_way.there + large.one_way.back
    assert both == pytest.approx(2 * large.summary.latency, rel=0.5)


def test_ranks_that_reach_each_other_by_sockets_alone_compare_their_clocks(lab, shell, tmp_path):
    here, there = lab.hosts
    with sshd.serving((there,), tmp_path) as ssh:
        options = ("--hosts", f"{here.name},{there.name}", "--ssh", ssh)
        longer = ("--time", "4s", "-s", "4M", *options)
        result = shell.run(*WORK, *longer, prefix=(*FIRST, *here.prefix()))
    assert (result.status, result.err) == (0, "")
    check_clocks(result.run)
    # Between slices, too.
    assert len(result.run.clock_comparisons) >= 3
    (row,) = rows(result.run)
    assert row.one_way.is_known


def test_a_way_back_that_is_longer_is_in_the_stamps_but_not_in_what_is_known(relayed, shell):
    """By one clock for both ends, the ways are as long as they are made. By two, they cannot be
    told from clocks that differ, and that is within the error."""
    there, back = 1_000_000, 5_000_000
    relayed.relay.rule(Rule(delay=there, further=back - there))
    run = relayed.measure(shell, *WORK, "-s", "200")
    check_clocks(run)
    (row,) = rows(run)
    assert not row.one_way.is_known
    blocks = [block for m in run.measurements for block in m.blocks]
    ways = [
        np.concatenate(each) for each in zip(*(one_way_times(b, 0, 0) for b in blocks), strict=True)
    ]
    # On a busy machine, some take longer.
    assert there <= ways[0].min() < back <= ways[1].min()
