"""Recipes: plans that come with halftrip."""

import pytest

from halftrip.errors import UsageError
from halftrip.plan.layers import file_layer, make_plan
from halftrip.plan.presets import PRESETS
from halftrip.plan.recipes import find_plan, names, path_of, purpose
from halftrip.transports.refusals import check_possible


@pytest.mark.parametrize("name", names())
def test_every_recipe_is_a_plan_and_says_what_for(name):
    check_possible(make_plan(file_layer(path_of(name))))
    assert path_of(name).read_text().startswith("# ")
    # The list fits 80 columns.
    assert 20 < len(purpose(name)) <= 66
    assert purpose(name).endswith(".")


def test_every_preset_is_a_recipe():
    assert names()[: len(PRESETS)] == list(PRESETS)
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


@pytest.mark.parametrize("path", ["paper.toml", "./paper", "recipes/paper"])
def test_a_path_is_no_recipe(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"^{path}: no such file or directory$"):
        file_layer(find_plan(path))


def test_an_unknown_name_has_a_nearest_one():
    with pytest.raises(UsageError, match=r"^wating: no such file or recipe; did you mean waiting"):
        find_plan("wating")
