"""``halftrip recipes``: the plans that come with halftrip."""

from __future__ import annotations

from halftrip.cli.output import writing
from halftrip.plan.recipes import names, path_of, purpose


def print_recipes(name: str | None) -> None:
    """Prints what each recipe is for, or the recipe of this name."""
    with writing():
        if name is not None:
            print(path_of(name).read_text(encoding="utf-8"), end="")
            return
        width = max(map(len, names()))
        for each in names():
            print(f"{each:{width}}  {purpose(each)}")
