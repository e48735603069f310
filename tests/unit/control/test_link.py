"""Messages between two ranks, and steps that both take: where one fails, both know why."""

from functools import partial

import pytest

from halftrip.control.link import PairLink
from halftrip.control.protocol import Closed
from halftrip.errors import Interrupted, Unavailable
from harness.groups import in_group, on_two_ranks


def agreed(steps):
    """Each rank takes its own of `steps`. Returns what each has of the other's, or its error, after
    a check that they can still agree."""

    def take_part(rank, group):
        link = PairLink(group, 1 - rank, initiates=rank == 0)
        try:
            found = link.agree(steps[rank])
        except Unavailable as error:
            found = error
        return found, link.agree(lambda: rank)

    results = on_two_ranks(take_part)
    assert [after for _, after in results] == [1, 0]
    return [found for found, _ in results]


def raise_(error):
    raise error


@pytest.mark.parametrize("failing", [0, 1])
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unavailable("no window"), "no window"),
        (PermissionError(13, "Permission denied", "/x"), "Permission denied"),
        (OSError("not a port"), "not a port"),
    ],
)
def test_where_one_rank_fails_both_raise_its_reason(failing, error, reason):
    steps = [lambda: "fine"] * 2
    steps[failing] = lambda: raise_(error)
    found = agreed(steps)
    assert [type(each) for each in found] == [Unavailable] * 2
    assert {str(each) for each in found} == {reason}


def test_where_both_fail_both_raise_the_initiator_s_reason():
    found = agreed([lambda: raise_(OSError(2, "No such file")), lambda: raise_(Closed("gone"))])
    assert {str(each) for each in found} == {"No such file"}


def test_a_mistake_of_the_program_is_not_taken_for_a_reason():
    def work(group):
        link = PairLink(group, 1 - group.rank, initiates=group.rank == 0)
        return link.agree((lambda: 1) if group.rank == 0 else (lambda: raise_(KeyError("x"))))

    found = in_group(2, work)
    assert [type(each) for each in found] == [Interrupted, KeyError]


def test_the_other_ranks_of_a_group_take_no_part():
    """Two pairs agree at the same time, one of them without rank 0."""

    def work(group):
        peer = {0: 3, 1: 2, 2: 1, 3: 0}[group.rank]
        link = PairLink(group, peer, initiates=group.rank < peer)
        return [link.agree(partial(pow, group.rank, number)) for number in (1, 2, 3)]

    assert in_group(4, work) == [[peer, peer**2, peer**3] for peer in (3, 2, 1, 0)]
