"""A user's own defaults."""

import os
import tempfile
from pathlib import Path

import pytest

from halftrip.errors import UsageError
from halftrip.plan.layers import config_layer, make_plan, options_layer, python_layer
from harness.need import no_permission
from harness.plans import mistake


@pytest.fixture
def config(tmp_path):
    """Writes the user's file; the environment in which it is found."""

    def write(text):
        path = tmp_path / "halftrip" / "config.toml"
        path.parent.mkdir()
        path.write_text(text)
        return {"XDG_CONFIG_HOME": str(tmp_path)}

    return write


def test_defaults_are_weaker_than_a_preset_a_plan_and_options(config):
    defaults = config_layer(config('sizes = "8"\ntime = "1s"\nslices = 3\ncores = "none"\n'))
    assert make_plan(defaults=defaults).sizes == (8,)
    file = python_layer({"preset": "quick", "slices": 4})
    plan = make_plan(file, options_layer({"time": "2s"}), defaults=defaults)
    assert plan.sizes == make_plan(python_layer({"preset": "quick"})).sizes
    assert (plan.time, plan.slices, plan.cores) == (2.0, 4, "none")


@pytest.mark.parametrize(
    "text", ['time = "1s"\n', "slices = 3\n", 'time = "1s"\npreset = "quick"\n']
)
def test_a_default_length_leaves_a_preset_its_limit(config, text):
    defaults = config_layer(config(text))
    quick = options_layer({"preset": "quick"})
    assert make_plan(quick, defaults=defaults).max_duration == 10
    longer = options_layer({"preset": "quick", "slices": "4"})
    assert make_plan(longer, defaults=defaults).max_duration is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('szes = "8"', "szes: no such key; did you mean sizes?"),
        ('sizes = "4Q"', "sizes: '4Q' is not a size"),
        ("sizes = ", "not TOML"),
        ('cores = "0,1"\nranks = 4', "cores: 2 cores for 4 ranks"),
    ],
)
def test_a_mistake_names_the_file(config, text, said):
    environment = config(text)
    path = f"{environment['XDG_CONFIG_HOME']}/halftrip/config.toml"
    found = mistake(lambda: make_plan(defaults=config_layer(environment)))
    assert found.startswith(f"{path}: {said}")


def test_where_the_file_is(config, tmp_path, monkeypatch):
    found = config("slices = 3\n")
    other = tmp_path / "other.toml"
    other.write_text("slices = 4\n")
    assert config_layer(found).keys == {"slices": 3}
    assert config_layer(found | {"HALFTRIP_CONFIG": ""}) is None
    assert config_layer(found | {"HALFTRIP_CONFIG": str(other)}).keys == {"slices": 4}
    with pytest.raises(UsageError, match=r"none\.toml: no such file or directory$"):
        config_layer({"HALFTRIP_CONFIG": str(tmp_path / "none.toml")})
    # Without XDG_CONFIG_HOME, or with a relative one, it is ~/.config.
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_layer({}) is None
    (tmp_path / ".config").symlink_to(tmp_path)
    assert config_layer({"XDG_CONFIG_HOME": "halftrip"}).keys == {"slices": 3}


@pytest.mark.parametrize("closed", [".", "halftrip", "halftrip/config.toml"])
def test_a_place_that_this_user_may_not_look_into_has_no_defaults(closed):
    said = []
    # Not in pytest's directory, which is for one user.
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        file = Path(made, "halftrip", "config.toml")
        file.parent.mkdir()
        file.write_text("slices = 3\n")
        with no_permission(Path(made, closed)):
            assert config_layer({"XDG_CONFIG_HOME": made}, warn=said.append) is None
    # Whether there are any is only known of the last.
    expected = [f"{file}: permission denied; these defaults are left out"]
    assert said == (expected if closed == "halftrip/config.toml" else [])


def test_a_job_has_been_started_already(config):
    environment = config(
        'launches = 3\nranks = 4\nlauncher = "mpiexec"\nslices = 3\n'
        'cores = "0,1"\nconcurrent-pairs = 2\npairs = "0-3,1-2"\n'
    )
    assert config_layer(environment, in_job=True).keys == {"slices": 3}
    with open(f"{environment['XDG_CONFIG_HOME']}/halftrip/config.toml", "w") as file:
        file.write('pairs = "all"\n')
    assert config_layer(environment, in_job=True).keys == {"pairs": "all"}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('cores = "0,1"\n', {"ranks": "4"}),
        ('cores = "0,1"\n', {"threads": "2"}),
        ("ranks = 2\n", {"cores": "0-3"}),
        ("ranks = 4\nconcurrent-pairs = 2\n", {"ranks": "2"}),
        ('pairs = "0-3,1-2"\n', {"ranks": "2"}),
    ],
)
def test_default_ranks_are_left_out_where_others_are_named(config, text, options):
    defaults = config_layer(config(text + "slices = 3\n"))
    asked = options_layer(options)
    plan = make_plan(asked, defaults=defaults)
    assert plan == make_plan(asked, python_layer({"slices": 3}))
    # And stay where they fit.
    assert text != 'cores = "0,1"\n' or make_plan(defaults=defaults).cores == (0, 1)
