"""Steps that all ranks take together: where one fails, all know why."""

import pytest

from halftrip.control.agreement import agree
from halftrip.control.protocol import Closed
from halftrip.errors import Interrupted, Unavailable
from harness.groups import in_group

RANKS = 3


def agreed(steps):
    """Every rank takes its own of `steps`. Returns the result of each, or its error, after a check
    that the group can still agree."""

    def work(group):
        try:
            found = agree(group, steps[group.rank])
        except Unavailable as error:
            found = error
        return found, agree(group, lambda: group.rank)

    results = in_group(RANKS, work)
    assert all(after == list(range(RANKS)) for _, after in results)
    return [found for found, _ in results]


def raise_(error):
    raise error


def test_every_rank_gets_what_each_rank_s_step_gave():
    values = [None, {"port": 7, "hosts": ["a", "b"]}, [1, 2]]
    assert agreed([lambda value=value: value for value in values]) == [values] * RANKS


@pytest.mark.parametrize("failing", range(RANKS))
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unavailable("no window"), "no window"),
        (Closed("the connection was closed"), "the connection was closed"),
        (PermissionError(13, "Permission denied", "/x"), "Permission denied"),
        (OSError("not a port"), "not a port"),
        (TimeoutError("timed out"), "timed out"),
    ],
)
def test_where_one_rank_fails_all_raise_its_reason(failing, error, reason):
    steps = [lambda: "fine"] * RANKS
    steps[failing] = lambda: raise_(error)
    found = agreed(steps)
    assert [type(each) for each in found] == [Unavailable] * RANKS
    assert {str(each) for each in found} == {reason}


def test_where_several_ranks_fail_all_raise_the_same_reason():
    found = agreed(
        [lambda: 1, lambda: raise_(OSError(2, "No such file")), lambda: raise_(Closed())]
    )
    assert {str(each) for each in found} == {"No such file"}


def test_a_mistake_of_the_program_is_not_taken_for_a_reason():
    def work(group):
        return agree(group, (lambda: 1) if group.rank == 0 else (lambda: raise_(KeyError("x"))))

    found = in_group(2, work)
    assert [type(each) for each in found] == [Interrupted, KeyError]
