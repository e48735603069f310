"""Which core each rank gets, on machines of every shape, and how their topology is read."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import Unavailable, UsageError
from halftrip.telemetry.topology import Core, CoreView, beside, last_level_cache, place, view


def machine(caches=1, cores=2, threads=1, host="h"):
    """Every core of a machine; first threads come first, as Linux counts on most machines."""
    total = caches * cores
    return tuple(
        Core(number=core + thread * total, physical=f"0:{core}", cache=f"cache{core // cores}")
        for thread, core in product(range(threads), range(total))
    )


def see(allowed, host="h", present=None, machine=""):
    numbers = present or tuple(core.number for core in allowed)
    return CoreView(host, tuple(allowed), tuple(numbers), machine=machine)


def cores_of(places):
    return [place.core for place in places]


SMALL, PAIRS = machine(cores=2), machine(caches=2, cores=2)


@pytest.mark.parametrize(
    ("views", "cores", "shared"),
    [
        # A physical core each.
        ([see(machine(cores=2, threads=2))] * 2, [0, 1], False),
        # Core 0 has the interrupts: it is left out where others are as near to each other.
        ([see(machine(cores=3, threads=2))] * 2, [1, 2], False),
        ([see(machine(caches=2, cores=2))] * 2, [2, 3], False),
        ([see(machine(caches=3, cores=1))] * 2, [1, 2], False),
        ([see(machine(cores=4))], [1], False),
        # Core 0 is alone in its cache: for two ranks, the next cache is better.
        ([see([PAIRS[0], PAIRS[2], PAIRS[3]])] * 2, [2, 3], False),
        # Over caches where they must; two threads of one core are better than one.
        ([see(machine(caches=2, cores=1))] * 2, [0, 1], False),
        ([see(machine(cores=1, threads=2))] * 2, [0, 1], False),
        ([see(SMALL)] * 4, [0, 1, 0, 1], True),
        # A launcher's own binding is kept.
        ([see([PAIRS[3]]), see([PAIRS[1]])], [3, 1], False),
        # Each host's cores are its own.
        ([see(SMALL[:1], "a"), see(SMALL[:1], "b")], [0, 0], False),
        # But for containers of one machine, also where that has other cores for others.
        ([see(SMALL[:1], "a", machine="m"), see(SMALL[:1], "b", machine="m")], [0, 0], True),
        ([see(SMALL, "a", machine="m"), see(SMALL, "b", machine="m")], [0, 1], False),
        ([see(SMALL[:1], "a", machine="m"), see(SMALL[:1], "b", machine="n")], [0, 0], False),
    ],
)
def test_each_rank_has_a_core(views, cores, shared):
    places = place(views)
    assert cores_of(places) == cores
    assert [where.shared for where in places] == [shared] * len(views)


def test_requested_cores_are_given_and_ranks_without_share_only_where_there_are_fewer():
    cores = machine(cores=4)
    assert cores_of(place([see(cores), see(cores)], [3, 1])) == [3, 1]
    assert all(where.shared for where in place([see(cores), see(cores)], [2, 2]))
    cores = machine(cores=2)
    two = place([see(cores)] * 2, "none")
    assert cores_of(two) == [None, None]
    assert not any(where.shared for where in two)
    assert all(where.shared for where in place([see(cores)] * 4, "none"))
    apart = place([see(cores[:1], "a"), see(cores[:1], "b")], "none")
    assert not any(where.shared for where in apart)
    assert all(where.shared for where in place([see(cores[:1])] * 2, "none"))


def test_a_missing_core_is_a_usage_error_and_a_forbidden_one_unavailable():
    cores = machine(cores=4)
    limited = see(cores[:2], present=range(4))
    with pytest.raises(UsageError, match=r"there is no core 9 \(there are 0, 1, 2, 3\)"):
        place([limited, limited], [0, 9])
    with pytest.raises(Unavailable, match=r"rank 1 may not use core 3 \(allowed: 0, 1\)"):
        place([limited, limited], [0, 3])
    # With threads, each rank has several.
    with pytest.raises(Unavailable, match=r"rank 1 may not use core 3"):
        place([limited] * 4, [0, 1, 0, 3], threads=2)


@given(st.data())
def test_a_core_is_shared_only_where_that_cannot_be_avoided(data):
    cores = machine(caches=2, cores=2, threads=2)
    subsets = st.lists(st.sampled_from(cores), min_size=1, unique=True)
    allowed = data.draw(st.lists(subsets, min_size=1, max_size=4))
    places = place([see(cores) for cores in allowed])
    for subset, where in zip(allowed, places, strict=True):
        assert where.core in [core.number for core in subset]
    possible = any(
        len({core.number for core in choice}) == len(choice) for choice in product(*allowed)
    )
    assert any(where.shared for where in places) == (not possible)


CPUS = "sys/devices/system/cpu"


def show_core(kernel, number, package, core, caches):
    """`caches` are level, size and the list of cores that share it."""
    directory = f"{CPUS}/cpu{number}"
    kernel(f"{directory}/topology/physical_package_id", f"{package}\n")
    kernel(f"{directory}/topology/core_id", f"{core}\n")
    for index, (level, size, shared) in enumerate(caches):
        kernel(f"{directory}/cache/index{index}/level", f"{level}\n")
        kernel(f"{directory}/cache/index{index}/size", f"{size}\n")
        kernel(f"{directory}/cache/index{index}/shared_cpu_list", f"{shared}\n")


def test_cores_are_known_by_package_core_and_last_cache(bare_kernel, monkeypatch):
    """Two threads of one core, and a core of another package."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {5, 0, 1})
    bare_kernel(f"{CPUS}/present", "0-1,5,8\n")
    for number, package, core, shared in ((0, 0, 0, "0-1"), (1, 0, 0, "0-1"), (5, 1, 0, "5,8")):
        # Not in the order of their levels, as on some machines.
        show_core(bare_kernel, number, package, core, [(3, "32M", shared), (1, "48K", number)])
    cores = (Core(0, "0:0", "0-1"), Core(1, "0:0", "0-1"), Core(5, "1:0", "5,8"))
    assert view("here", bare_kernel.reader) == CoreView("here", cores, (0, 1, 5, 8))


def test_without_caches_cores_share_their_package(bare_kernel, monkeypatch):
    seen = view("here", bare_kernel.reader)
    assert len({core.physical for core in seen.allowed}) == len(seen.allowed)
    assert len({core.cache for core in seen.allowed}) == 1
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {2})
    show_core(bare_kernel, 2, 1, 7, [])
    assert view("here", bare_kernel.reader) == CoreView("here", (Core(2, "1:7", "1"),), (2,))


def test_the_last_level_cache_is_that_of_the_highest_level(bare_kernel):
    caches = [("1", "48K", 5), ("3", "16384K", 5), ("2", "2048K", 5), ("x", "64M", 5)]
    show_core(bare_kernel, 5, 0, 0, caches)
    assert last_level_cache(5, bare_kernel.reader) == 16 << 20
    # 32 MiB where the kernel does not tell.
    assert last_level_cache(6, bare_kernel.reader) == 32 << 20


FOUR, SIBLINGS = machine(cores=4), machine(cores=3, threads=2)


@pytest.mark.parametrize(
    ("allowed", "timed", "left"),
    [
        (FOUR, FOUR[:2], {2, 3}),
        # A core that this process may not use is timed, too.
        (FOUR[1:3], (FOUR[0], FOUR[1]), {2}),
        # 3 to 5 are the other processors of 0 to 2.
        (SIBLINGS, SIBLINGS[:2], {2, 5}),
        (SIBLINGS, SIBLINGS[:3], {3, 4, 5}),
        (SIBLINGS[:4], SIBLINGS[:3], {3}),
        # The sibling of a core that only the ranks may use.
        (SIBLINGS[2:4], SIBLINGS[:1], {2}),
        # None is left.
        (FOUR[:2], FOUR, {0, 1}),
        (SMALL, SMALL, {0, 1}),
    ],
)
def test_what_is_not_timed_runs_beside_what_is(allowed, timed, left):
    assert beside(allowed, timed) == left
