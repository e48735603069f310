"""Recipes: plans that come with halftrip, found by name; and presets: keys that hold unless a file,
an option or a key says otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halftrip.errors import UsageError
from halftrip.spelling import nearest

PRESETS: dict[str, Mapping[str, Any]] = {
    # Answers within ten seconds: sizes four times apart, a wide interval.
    "quick": {"sizes": "1..4M*4", "ci": "5%", "time": "50ms", "max_duration": "10s"},
    # What a plan has by itself, but within a minute.
    "standard": {"max_duration": "60s"},
    # For publication: launches of fresh processes are a factor of their own, and so is the cache.
    "paper": {
        "launches": 10,
        "ci": "1%",
        "time": "0.5s",
        "cache": "hot,cold",
        "system_log": True,
    },
}


_DIRECTORY = Path(__file__).parents[1] / "recipes"


def names() -> list[str]:
    """The names of all recipes: those of the presets first."""
    found = sorted(path.stem for path in _DIRECTORY.glob("*.toml"))
    return [*PRESETS, *(name for name in found if name not in PRESETS)]


def path_of(name: str) -> Path:
    """The file of a recipe. Raises UsageError, which names the most similar one, for an unknown
    name."""
    if name not in names():
        raise UsageError(f"{name}: no such recipe; {nearest(name, names())}")
    return _DIRECTORY / f"{name}.toml"


def called(path: str | os.PathLike[str]) -> str:
    """The file of a plan in words: a user knows a recipe by its name."""
    place = Path(path)
    return f"recipe {place.stem}" if place.parent == _DIRECTORY else os.fspath(path)


def purpose(name: str) -> str:
    """What a recipe is for, in one line: its first."""
    with path_of(name).open(encoding="utf-8") as file:
        return file.readline().strip("# \n")


def purposes() -> list[tuple[str, str]]:
    """The name of each recipe, and what it is for."""
    return [(name, purpose(name)) for name in names()]


def find_plan(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The path of a plan: `name` itself, if there is such a file or it is written as a path, or
    that of the recipe of this name. Raises UsageError if there is neither."""
    text = os.fspath(name)
    is_path = "/" in text or text.endswith(".toml")
    if is_path or (os.path.exists(text) and not os.path.isdir(text)):
        return name
    if text in names():
        return path_of(text)
    if os.path.isdir(text):
        return name
    raise UsageError(f"{text or repr(text)}: no such file or recipe; {nearest(text, names())}")
