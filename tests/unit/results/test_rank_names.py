"""What ranks are called: by their hosts, where these tell them apart."""

from halftrip.results.names import Names


def test_on_one_host_ranks_have_numbers():
    names = Names({0: "n1", 1: "n1"})
    assert (names.rank(1), names.of_host(1)) == ("rank 1", "")
    assert (names.pair((0, 1)), names.pairs([(0, 1), (0, 1)])) == ("0-1", "ranks 0-1")


def test_ranks_with_a_host_each_are_called_by_it():
    names = Names({0: "n1", 1: "n2", 2: "n3"})
    assert (names.rank(1), names.of_host(1)) == ("n2", " of n2")
    assert names.pairs([(0, 1), (1, 2)]) == "n1 to n2, n2 to n3"


def test_of_several_ranks_on_a_host_both_are_said():
    names = Names({0: "n1", 1: "n1", 2: "n2", 3: "n2"})
    assert (names.rank(2), names.of_host(2)) == ("rank 2 of n2", " of n2")
    assert names.pairs([(0, 2)]) == "ranks 0-2"


def test_a_rank_that_nobody_has_described_has_its_number():
    """So has each where hosts have the same name, as containers may have it."""
    assert Names({0: "box", 1: "box"}).pairs([(0, 1)]) == "ranks 0-1"
    names = Names({0: "n1", 1: "n2"})
    assert (names.rank(7), names.of_host(7)) == ("rank 7", "")
    assert Names({}).pair((0, 1)) == "0-1"
