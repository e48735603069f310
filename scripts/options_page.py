"""Prints docs/options.md, from the table of options; make golden writes it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from halftrip.plan.option import Option
from halftrip.plan.options import GROUPS, OPTIONS
from halftrip.plan.plan import PART_KEYS

HEAD = """\
# Options of `halftrip run`

Every option is also a key of a plan (TOML, with `-` or `_` in its name) and of `halftrip.run()` in
Python. Options win over a plan, both win over a preset, and all of these over your own defaults.
Several values of an option are separated by commas, and every combination is measured.

Your own defaults of `halftrip run` are keys of a plan in `~/.config/halftrip/config.toml` (or in
`$XDG_CONFIG_HOME/halftrip/config.toml`, or in the file that `$HALFTRIP_CONFIG` names). The plan in
a run file has what became of them. `--no-config`, or an empty `HALFTRIP_CONFIG`, leaves them out;
`--resume` and Python do not use them. In a job that another launcher has started, its keys for
launchers, ranks, their cores and launches do not count; nor do ranks and cores that do not fit
those of the command line.

`wait`, `memory` and `pages` may differ between the two ends of a pair: `--wait spin:block` is an
initiator that polls and a responder that blocks; `--wait spin` is both.
"""
COLUMNS = ("option", "short", "meaning", "default")
TAIL = """\
Keys of plans alone: {}.

## Parts of plans

A part of a plan may have the keys
{};
all others hold for the whole plan.

## Completion

    eval "$(halftrip completion bash)"                 # in ~/.bashrc
    eval "$(halftrip completion zsh)"                  # in ~/.zshrc, after compinit
    halftrip completion fish | source                  # in ~/.config/fish/config.fish

Options, commands, and the names that they take: transports, patterns, presets, recipes, and so on.

This page is made from `src/halftrip/plan/options.py` by `scripts/options_page.py`.
"""


def page() -> str:
    """The whole page, in Markdown."""
    tables = "\n".join(f"## {title}\n\n{_table(group)}" for group, title in GROUPS.items())
    plans_alone = [name for name, option in OPTIONS.items() if not option.help]
    return f"{HEAD}\n{tables}\n{TAIL.format(*map(_list, (plans_alone, PART_KEYS)))}"


def _list(names: Iterable[str]) -> str:
    """The names of keys, in lines."""
    return textwrap.fill(", ".join(f"`{name}`" for name in names), 100)


def _table(group: str) -> str:
    """The options of a group."""
    options = {name: option for name, option in OPTIONS.items() if option.group == group}
    rows = [COLUMNS, ("---",) * len(COLUMNS)]
    rows += [_row(name, option) for name, option in options.items() if option.help]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(name: str, option: Option) -> tuple[str, ...]:
    dashed = name.replace("_", "-")
    long = f"`--{dashed}`, `--no-{dashed}`" if option.negatable else f"`--{dashed}`"
    meaning, default = _meaning(option)
    return long, ", ".join(f"`{short}`" for short in option.short), meaning, default


def _meaning(option: Option) -> tuple[str, str]:
    """The help text without its brackets, and the default, which is in them."""
    found = re.search(r" \[([^]]*)\]", option.help)
    if found is None:
        return option.help, "no" if option.is_flag else "none"
    return option.help.replace(found[0], "").replace(".;", ";"), found[1]


if __name__ == "__main__":
    print(page(), end="")
