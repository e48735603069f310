"""Recipes: plans that come with halftrip."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.errors import UsageError
from halftrip.plan.configurations import PartPlans, settings
from halftrip.plan.layers import file_layer, make_plan, options_layer, python_layer
from halftrip.plan.pairing import Schedule
from halftrip.plan.recipes import PRESETS, find_plan, names, path_of, purpose
from halftrip.transports.refusals import check_possible
from harness.kernel import has_two_nodes


@pytest.mark.parametrize("name", names())
def test_every_recipe_is_a_plan_and_says_what_for(name, tmp_path, monkeypatch):
    has_two_nodes(tmp_path, monkeypatch)
    hosts = {"hosts": "a,b,c"} if name == "congestion" else {}
    check_possible(make_plan(file_layer(path_of(name)), options_layer(hosts)))
    assert path_of(name).read_text().startswith("# ")
    # The list fits 80 columns.
    assert 20 < len(purpose(name)) <= 66
    assert purpose(name).endswith(".")


def test_every_preset_and_every_experiment_of_mpitest_is_a_recipe():
    assert names()[: len(PRESETS)] == list(PRESETS)
    own = {name.removeprefix("hpcbench-") for name in names() if name.startswith("hpcbench-")}
    assert own == {recipe for recipe, *_ in MPITEST}
    for name in PRESETS:
        assert make_plan(file_layer(find_plan(name))).preset == name


def test_a_file_wins_over_a_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_plan("paper") == path_of("paper")
    (tmp_path / "paper").mkdir()
    assert find_plan("paper") == path_of("paper")
    (tmp_path / "paper").rmdir()
    (tmp_path / "paper").write_text('sizes = "8"\n')
    assert find_plan("paper") == "paper"
    assert make_plan(file_layer(find_plan("paper"))).sizes == (8,)
    # A path is none, and an unknown name has a nearest one.
    with pytest.raises(UsageError, match=r"^\./paper\.toml: no such file or directory$"):
        file_layer(find_plan("./paper.toml"))
    with pytest.raises(UsageError, match=r"^wating: no such file or recipe; did you mean waiting"):
        find_plan("wating")


def test_dragon_measures_what_dragons_own_benchmarks_measure():
    """The sizes, windows and numbers of samples of ch_p2p_latency, ch_p2p_msg_rate and
    ch_p2p_bandwidth, which two of them measure once; each rank is asked."""
    plan = make_plan(file_layer(path_of("dragon")))
    choices = {"dragon": {"wait": ("spin",), "ownership": ("keep", "transfer")}}
    plans = PartPlans(plan, choices)
    found = {
        (each.pattern, each.size, each.window): (plans.of(each).iterations, plans.of(each).warmup)
        for each in settings(plan, choices)
    }
    sizes = (8, 64, 1 << 10, 16 << 10, 64 << 10, 1 << 20, 2 << 20)
    latency = {("pingpong", size, 1): (30, 10) for size in sizes}
    counts = {8: 100, 64: 80, 256: 60, 1024: 40, 2048: 30}
    rate = {("stream", size, 64): (count, 8) for size, count in counts.items()}
    bandwidth = {
        ("stream", 8, 64): (100, 8),
        ("stream", 64, 48): (50, 8),
        ("stream", 1 << 10, 32): (40, 8),
        ("stream", 16 << 10, 32): (30, 8),
        ("stream", 64 << 10, 32): (30, 8),
        ("stream", 1 << 20, 16): (20, 8),
    }
    assert found == latency | rate | bandwidth
    owned = {(each.pattern, each.ownership) for each in settings(plan, choices)}
    assert owned == {("pingpong", "transfer"), ("stream", "keep")}
    pairs = Schedule(4, plan.pairs)
    reporting = [pair[0] for number in range(pairs.rounds) for pair in pairs.pairs_of(number)]
    assert sorted(reporting) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "sizes", "counts"),
    [
        # What they were made for: sizes, iterations, slices and launches.
        ("mpi4py-ve", [8 << power for power in range(25)], (10, 1, 1)),
        ("eight-measurements", [4 << power for power in range(14)], (100_000, 1, 8)),
        ("one-box-two-boxes", range(4, 40_001, 4), None),
    ],
)
def test_recipes_measure_what_the_originals_do(name, sizes, counts):
    plan = make_plan(file_layer(path_of(name)))
    assert plan.sizes == tuple(sizes)
    assert counts in (None, (plan.iterations, plan.slices, plan.launches))


# Each experiment of mpitest: its recipe and options, and what it measures: pattern and mode, the
# sizes, the repetitions and the seconds of each.
GROWING = tuple(1 << n for n in range(27))
SIX = {"slices": "6", "time": "30s"}
MPITEST = [
    ("fixed", {}, "stream", "blocking", (1 << 20,), 5, 5.0),
    ("fixed", {"system_log": True}, "stream", "blocking", (1 << 20,), 5, 5.0),
    ("fixed", {"mode": "nonblocking", "window": "16"} | SIX,
     "stream", "nonblocking", (1 << 20,), 6, 5.0),
    ("exponential", {}, "stream", "blocking", GROWING, 1, 5.0),
    ("fixed-pingpong", {}, "pingpong", "blocking", (1 << 20,), 6, 5.0),
    ("fixed-pingpong", {"mode": "nonblocking"}, "pingpong", "nonblocking", (1 << 20,), 6, 5.0),
    ("fixed-pingpong",
     {"mode": "nonblocking", "sizes": "1..64M", "slices": "1", "time": "5s"},
     "pingpong", "nonblocking", GROWING, 1, 5.0),
    ("fixed-pingpong", {"sizes": "64,1K", "rtt": True, "slices": "5", "time": "1s"},
     "pingpong", "blocking", (64, 1024), 5, 0.2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "options", "pattern", "mode", "sizes", "repetitions", "seconds"), MPITEST
)
def test_hpcbench_measures_what_mpitest_measures(
    recipe, options, pattern, mode, sizes, repetitions, seconds
):
    plan = make_plan(file_layer(path_of(f"hpcbench-{recipe}")), options_layer(options))
    found = settings(plan, {"mpi": {"wait": ("spin",)}})
    assert {(each.pattern, each.mode) for each in found} == {(pattern, mode)}
    assert sorted(each.size for each in found) == list(sizes)
    assert (plan.slices, plan.time / plan.slices, plan.ci) == (repetitions, seconds, None)
    # One buffer to send, one to receive, always the same.
    assert {(each.buffers, each.cache) for each in found} == {("separate", "hot")}
    assert {each.places for each in found if each.window > 1} <= {"same"}
    assert (plan.system_log, plan.rtt) == ("system_log" in options, "rtt" in options)
    assert plan.launches == 1
    # The head of the recipe says how.
    said = path_of(f"hpcbench-{recipe}").read_text()
    assert all(f"--{name.replace('_', '-')}" in said for name in options if name != "sizes")


SIZES = [1 << n for n in range(23)]
WINDOWS = ("stream", "bidirectional")


def osu(pattern, size):
    """The iterations and the warm-up of osu_latency, osu_bw and osu_bibw 7.4 (osu_util.h)."""
    small = size <= 8192
    if pattern == "pingpong":
        return (10_000, 100) if small else (1000, 10)
    return (100, 10) if small else (20, 2)


def imb(_, size):
    """The repetitions of IMB-MPI1 (IMB_settings.h); as many are made to find how long they take."""
    count = min(1000, (40 << 20) // max(size, 1))
    return count, count


@pytest.mark.parametrize(
    ("name", "single", "sizes", "counts"),
    [
        ("osu", {"pingpong"}, SIZES, osu),
        ("imb", {"pingpong", "pingping"}, [0, *SIZES], imb),
    ],
)
def test_what_is_measured_as_by_another_tool_has_its_sizes_counts_and_windows(
    name, single, sizes, counts
):
    plan = make_plan(file_layer(path_of(f"like-{name}")))
    choices = {"mpi": {"wait": ("spin",)}}
    plans, found = PartPlans(plan, choices), settings(plan, choices)
    measured = {
        (each.pattern, each.size): (plans.of(each).iterations, plans.of(each).warmup)
        for each in found
    }
    patterns = (*single, *WINDOWS)
    assert measured == {(p, size): counts(p, size) for p in patterns for size in sizes}
    assert len(found) == len(measured)
    assert (plan.slices, plan.ci, plan.launches) == (1, None, 1)
    kinds = {(each.pattern, each.mode, each.window, each.places) for each in found}
    assert kinds == {
        *((pattern, "blocking", 1, "same") for pattern in single),
        *((pattern, "nonblocking", 64, "same") for pattern in WINDOWS),
    }
    assert {(each.buffers, each.cache) for each in found} == {("separate", "hot")}


@pytest.mark.parametrize(("name", "count"), [("osu", osu), ("imb", imb)])
@given(
    st.lists(st.sampled_from([*SIZES, 100, 40_000]), min_size=1, unique=True),
    st.sampled_from([None, ["pingpong"], ["stream"], ["bidirectional", "pingpong"]]),
)
def test_chosen_sizes_and_patterns_are_measured_as_in_the_whole_recipe(
    name, count, sizes, patterns
):
    asked = {"sizes": ",".join(map(str, sizes))}
    asked |= {} if patterns is None else {"pattern": ",".join(patterns)}
    recipe = file_layer(path_of(f"like-{name}"))
    choices = {"mpi": {"wait": ("spin",)}}
    whole, plan = make_plan(recipe), make_plan(recipe, python_layer(asked))
    check_possible(plan)
    plans = PartPlans(plan, choices)
    found = settings(plan, choices)
    everything = {msgspec.structs.replace(each, size=0) for each in settings(whole, choices)}
    wanted = {each for each in everything if patterns is None or each.pattern in patterns}
    assert {msgspec.structs.replace(each, size=0) for each in found} == wanted
    assert len(found) == len(wanted) * len(sizes)
    for each in found:
        # A size that the recipe has not is measured as the next smaller one.
        like = count(each.pattern, max(size for size in SIZES if size <= each.size))
        assert (plans.of(each).iterations, plans.of(each).warmup) == like


def test_a_size_has_the_window_of_its_part_unless_another_is_asked_for():
    recipe = file_layer(path_of("hpcbench-exponential"))
    windows = {
        size: {part.window for part in make_plan(recipe, python_layer({"sizes": size})).part_plans}
        for size in ("8", "64K", "3M")
    }
    assert windows == {"8": {(1000,)}, "64K": {(100,)}, "3M": {(5,)}}
    plan = make_plan(recipe, python_layer({"sizes": "8,64K", "window": 7}))
    assert {(part.sizes, part.window) for part in plan.part_plans} == {
        ((8,), (7,)),
        ((64 << 10,), (7,)),
    }


def test_sockets_are_measured_as_by_iperf3_and_sockperf():
    (stream,) = settings(
        make_plan(file_layer(path_of("like-iperf3"))), {"tcp": {"wait": ("spin",)}}
    )
    assert (stream.pattern, stream.size, stream.places) == ("stream", 128 << 10, "same")
    # Its acknowledgement is a small part of it.
    assert stream.window * stream.size >= 32 << 20
    plan = make_plan(file_layer(path_of("like-iperf3")))
    assert (plan.time, plan.slices, plan.warmup, plan.ci) == (10.0, 10, 0, None)
    plan = make_plan(file_layer(path_of("like-sockperf")))
    (pingpong,) = settings(plan, {"udp": {"wait": ("spin",)}})
    assert (pingpong.pattern, pingpong.size, pingpong.buffers) == ("pingpong", 14, "separate")
    assert (plan.time, plan.slices, plan.ci) == (0.55, 1, None)
    assert {stream.both_ends("wait"), pingpong.both_ends("wait")} == {"block"}
