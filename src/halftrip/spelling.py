"""What somebody may have meant who has typed a name that is not known."""

from __future__ import annotations

from collections.abc import Collection

# So many letters of what was typed may have one mistake.
_LETTERS_PER_EDIT = 3


def nearest(name: str, allowed: Collection[str]) -> str:
    """What to type instead of `name`: the most similar of the `allowed` names, or all of them."""
    close = min(allowed, key=lambda each: _apart(name, each), default=None)
    if close is not None and _apart(name, close) <= len(_bare(name)) // _LETTERS_PER_EDIT:
        return f"did you mean {close}?"
    return f"allowed: {', '.join(allowed)}"


def _apart(typed: str, name: str) -> int:
    """How many letters have to be put in, left out, changed, or swapped with the next one, to make
    `name` of what was typed; none, where that is its beginning. Dashes in front do not count."""
    one, other = _bare(typed), _bare(name)
    if len(one) >= _LETTERS_PER_EDIT and other.startswith(one):
        return 0
    # The optimal string alignment distance, line by line of its table.
    before: list[int] = []
    above: list[int] = [*range(len(other) + 1)]
    for n, letter in enumerate(one, 1):
        line: list[int] = [n]
        for m, wanted in enumerate(other, 1):
            least = min(above[m] + 1, line[m - 1] + 1, above[m - 1] + (letter != wanted))
            is_swapped = n > 1 < m and (letter, one[n - 2]) == (other[m - 2], wanted)
            line.append(min(least, before[m - 2] + 1) if is_swapped else least)
        before, above = above, line
    return above[-1]


def _bare(name: str) -> str:
    return name.lstrip("-").lower()
