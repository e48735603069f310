"""Plans from layers: a preset, a file, the command line, Python; the last one wins."""

import msgspec
import pytest

from halftrip.errors import UsageError
from halftrip.plan.layers import file_layer, make_plan, options_layer, plan_layer, python_layer
from halftrip.plan.plan import Plan
from harness.plans import mistake, mistake_in_file


def from_options(**options):
    return make_plan(options_layer(options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transport": "carrier"}, "--transport: 'carrier' is not known; allowed:"),
        ({"wait": "spin:"}, "--wait: '' is not known; allowed: block, spin"),
        ({"wait": "spin:block:spin"}, "--wait: 'block:spin' is not known; allowed: block, spin"),
        ({"memory": "device"}, "--memory: 'device' is not known; allowed: host"),
        ({"pages": "4K:2M"}, "--pages: '2M' is not known; allowed: 4K, huge"),
        ({"sizes": "4Q"}, "--sizes: '4Q' is not a size"),
        ({"ci": "0"}, "--ci: '0' is out of range"),
        ({"time": "0s"}, "--time: '0s' is out of range"),
        ({"iterations": "0"}, "--iterations: 0 is too few"),
        ({"warmup": "-1"}, "--warmup: -1 is too few; at least 0"),
        ({"slices": "1.5"}, "--slices: '1.5' is not a whole number"),
        ({"cores": "0"}, "--cores: 1 core for 2 ranks; name 2, one for each, as 0,1"),
        ({"cores": "0,1,2"}, "--cores: 3 ranks cannot form halves"),
        (
            {"cores": "0-2", "ranks": "2", "threads": "3"},
            "--cores: 3 cores for 2 ranks of 3 threads; name 6, one for each, as 0-5",
        ),
        ({"window": "8"}, "--window: pingpong has no window; --pattern stream, bidirectional"),
        (
            {"window": "8", "pattern": "exchange,pingping"},
            "--window: exchange, pingping has no window",
        ),
        (
            {"ranks": "4", "concurrent_pairs": "3"},
            "--ranks: 3 concurrent pairs: 4 ranks make 2 pairs at a time",
        ),
        ({"ranks": "1"}, "--ranks: 1 is too few"),
        ({"transport": "mpi5py"}, "--transport: 'mpi5py' is not known; did you mean mpi4py?"),
        ({"dragon": ""}, "--dragon: it is empty"),
        (
            {"dragon": "dragon -s"},
            "--dragon: nothing here needs Dragon; --transport dragon, dragon",
        ),
        ({"launcher": "shell"}, "--launcher: 'shell' is not known; allowed: local, mpiexec"),
        (
            {"iterations": "5", "ci": "1%"},
            "--iterations: a fixed count ends a configuration by itself",
        ),
        ({"iterations": "9" * 30}, f"--iterations: {'9' * 30} is too many; at most"),
        ({"sizes": "9" * 400}, f"--sizes: '{'9' * 40}' is more than any memory holds"),
        ({"cores": "²,1"}, "--cores: '²' is not a core; write core numbers as 0,1 or 0-3, or all"),
        ({"cores": "9" * 5000}, "--cores: '9999"),
        ({"cores": "3-0"}, "--cores: '3-0' ends before it begins"),
        ({"szes": "8"}, "--szes: no such key; did you mean sizes?"),
        ({"max_duration": "soon"}, "--max-duration: 'soon' is not a time"),
        ({"preset": "fast"}, "--preset: 'fast' is not known; allowed: quick, standard, paper"),
        ({"until_ci": True, "ci": "none"}, "--until-ci: there is no interval to wait for; give"),
        ({"device_copy": "dma"}, "--device-copy: 'dma' is not known; allowed: driver, engine"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(options, message):
    assert mistake(lambda: from_options(**options)).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sizes = ", "not TOML"),
        ('{"record":"run","version":1}', "a run file, not a plan; halftrip show "),
        ('hue = "red"', "hue: no such key; allowed: transport"),
        ("quiet = 1", "quiet: 1 is neither true nor false"),
        ("slices = true", "slices: True is not a whole number"),
        ('[sizes]\nfirst = "8"', "sizes:"),
        ('launcher = ["local"]', "launcher: ['local'] is not known; allowed: local, mpiexec"),
        ('transport = [["tcp"]]', "transport: ['tcp'] is not known; allowed: mpi, shm"),
        ("pages = [4]", "pages: 4 is not known; allowed: 4K, huge"),
    ],
)
def test_a_wrong_file_is_named_with_its_key(tmp_path, content, message):
    assert message in mistake_in_file(tmp_path, content)


def test_a_file_is_read_and_options_win_over_it(tmp_path):
    usual = Plan(message_rate=True, launches=10, dealt=True, time=0.1)
    assert from_options(sizes=None) == make_plan() == usual
    path = tmp_path / "plan.toml"
    path.write_text(
        'transport = ["tcp"]\nsizes = [8, "1K", "2K..4K"]\nci = "2%"\ncores = [0, 1]\n'
        "time = 0.5\nslices = 3\nquiet = true\n"
    )
    plan = make_plan(file_layer(path))
    assert (plan.transport, plan.sizes) == (("tcp",), (8, 1024, 2048, 4096))
    assert (plan.ci, plan.cores, plan.time) == (0.02, (0, 1), 0.5)
    assert (plan.slices, plan.quiet) == (3, True)
    assert make_plan(file_layer(path), options_layer({"sizes": "16"})).sizes == (16,)
    with pytest.raises(UsageError, match="no such file"):
        file_layer(tmp_path / "none.toml")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        file_layer(path)


def test_cores_give_the_number_of_ranks_and_the_last_layer_wins():
    assert from_options(cores="0-3").ranks == 4
    assert from_options(cores="0-1,4,5").cores == (0, 1, 4, 5)
    file = python_layer({"iterations": 100})
    assert make_plan(file).iterations == 100
    assert make_plan(file, options_layer({"ci": "2%"})).iterations is None
    assert make_plan(python_layer({"ci": "2%"}), options_layer({"iterations": 7})).iterations == 7


def test_a_plan_from_python_is_checked_like_any_other():
    for keys, said in (
        ({"cores": (0, 1, 2)}, "cores: 3 ranks cannot form halves"),
        ({"ci": 7.0}, "ci: 7.0 is out of range"),
        ({"sizes": ()}, "sizes: a size is empty"),
    ):
        with pytest.raises(UsageError, match=f"^{said}"):
            make_plan(plan_layer(Plan(**keys)))


# Presets.


def made(*layers):
    return make_plan(*(python_layer(keys) for keys in layers))


def test_all_other_layers_win_over_a_preset():
    paper = made({"preset": "paper"})
    assert (paper.launches, paper.slices, paper.ci) == (10, 20, 0.01)
    plan = made({"ci": "3%", "preset": "paper"}, {"launches": 2})
    assert (plan.ci, plan.launches, plan.cache) == (0.03, 2, ("hot", "cold"))
    # Also where the preset comes last.
    plan = made({"launches": 2, "iterations": 7}, {"preset": "paper"})
    assert (plan.launches, plan.iterations, plan.cache) == (2, 7, ("hot", "cold"))
    # Of two presets, the last one counts.
    plan = made({"preset": "paper"}, {"preset": "quick"})
    assert (plan.launches < 10, plan.ci) == (True, 0.05)
    standard = made({"preset": "standard"})
    assert msgspec.structs.replace(standard, preset=None, max_duration=None) == made({})


@pytest.mark.parametrize(("preset", "seconds"), [("quick", 10), ("standard", 60), ("paper", None)])
def test_a_preset_ends_in_time(preset, seconds):
    assert made({"preset": preset}).max_duration == seconds
    assert made({"preset": preset}, {"sizes": "8", "ci": "1%"}).max_duration == seconds
    # Unless somebody says how long a part of it takes.
    for name, value in (("time", "2s"), ("launches", 5), ("iterations", 9), ("slices", 20)):
        assert made({"preset": preset}, {name: value}).max_duration is None
    assert made({"preset": preset, "max_duration": "90s"}, {"time": "2s"}).max_duration == 90
