"""What is compared: the rows of a run, of one of its sides, or of those with one value of what it
has varied; and in what such sides differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from halftrip.analysis.flags.flag import counted
from halftrip.analysis.matching import partners, unknown_of
from halftrip.analysis.row_change import Rounds
from halftrip.analysis.states import RunStates, run_states
from halftrip.errors import UsageError
from halftrip.plan.setting import Setting
from halftrip.plan.settings import SETTINGS, extra_setting, ordered
from halftrip.plan.vary import in_words
from halftrip.results.configuration import Configuration, extra_names
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.spelling import nearest
from halftrip.units import format_size

Rows = Mapping[Configuration, Sequence[Measurement]]
# Of the values of a setting, so many are named.
_MOST_NAMED = 3
_MOST_SETTINGS = 8


class ComparedRun(NamedTuple):
    """One of the runs that are compared: its name, its rows by what was measured, whatever cores it
    was measured on, and the states of its machine. `rounds` has the round of each launch, where
    both sides were measured in turn, round by round. `by` is what tells it from the other sides of
    the same files, in words: the name of a setting, whose value in its rows is that of the
    base."""

    name: str
    run: Run
    rows: Rows
    states: RunStates
    rounds: Rounds | None = None
    by: str = ""

    @classmethod
    def of(
        cls, run: Run, name: str, chosen: Callable[[Configuration], bool] = lambda _: True
    ) -> ComparedRun:
        """All rows of a run that are `chosen`."""
        rows = {
            configuration.without_cores: measurements
            for configuration, measurements in run.by_configuration.items()
            if chosen(configuration)
        }
        return cls(name, run, rows, run_states(run))

    def statistic(self, configuration: Configuration) -> str:
        """What the times of a row are: medians of single samples, unless another tool says that
        they are something else."""
        found = self.run.source_of.get(configuration)
        return "median" if found is None else found.statistic


def sides_of(run: Run) -> list[ComparedRun] | None:
    """The base and the new side of a run that was measured against an earlier one in turn; None
    where it was not."""
    if run.sides is None:
        return None
    rounds, states = run.sides.rounds, run_states(run)
    sides = ((f"{run.base_file}, measured again", run.sides.base), ("new", run.sides.new))
    return [
        ComparedRun.of(side, name)._replace(rounds=rounds, states=states) for name, side in sides
    ]


# By a variant, or by a setting.


def sides_by(name: str, given: Sequence[ComparedRun]) -> list[ComparedRun]:
    """The rows of these runs, one side for each value of what is called so, a variant or a setting,
    in the order of the files. Raises UsageError if there are not several."""
    if any(name in dict(each.variant) for side in given for each in side.rows):
        alone = len(given) == 1
        return _several(name, [made for side in given for made in _by_variant(side, name, alone)])
    if name == "transport":
        said = "the first screen of halftrip show says which is the fastest"
        raise UsageError(f"--by: transports are not compared row by row: {said}")
    setting = SETTINGS.get(name.removeprefix("--").replace("-", "_"))
    if setting is None:
        rows = [each for side in given for each in side.rows]
        known = [*dict.fromkeys(key for each in rows for key, _ in each.variant)]
        known += option_names(varied(rows))
        said = nearest(name, known) if known else "nothing was varied in this run"
        raise UsageError(f"--by: {name!r} was not varied: {said}")
    return _several(setting.title, _by_setting(given, setting))


def varied(rows: Iterable[Configuration]) -> list[Setting]:
    """The settings of which these rows have several values, those of one transport and pattern."""
    paths: dict[tuple[str, str], list[Configuration]] = {}
    for row in rows:
        paths.setdefault((row.transport, row.pattern), []).append(row)

    def is_varied(setting: Setting) -> bool:
        texts = ({setting.text(row) for row in path} - {""} for path in paths.values())
        return any(len(found) > 1 for found in texts)

    return [*filter(is_varied, SETTINGS.values())]


def option_names(settings: Iterable[Setting]) -> list[str]:
    """What --by calls them."""
    return [_option(each) for each in settings]


def _option(setting: Setting) -> str:
    return setting.option.removeprefix("--")


def _several(what: str, sides: Sequence[ComparedRun]) -> list[ComparedRun]:
    if len(sides) < 2:
        side = sides[0].name if sides else "no value"
        raise UsageError(f"--by: there is one {what}: {side}")
    return [*sides]


def _by_variant(side: ComparedRun, name: str, alone: bool) -> list[ComparedRun]:
    """The rows of a run by what is varied; `alone`: no other run is compared."""
    found: dict[str, dict[Configuration, Sequence[Measurement]]] = {}
    for each, measurements in side.rows.items():
        variant = dict(each.variant)
        value = variant.pop(name, None)
        if value is not None:
            rest = msgspec.structs.replace(each, variant=tuple(variant.items()))
            found.setdefault(value, {})[rest] = measurements
    # What one run has measured in turn is compared round by round.
    rounds = {launch.number: launch.round for launch in side.run.launches} if alone else {}
    return [
        side._replace(
            name=value if alone else f"{side.name}: {value}", rows=rows, rounds=rounds or None
        )
        for value, rows in found.items()
    ]


def _by_setting(given: Sequence[ComparedRun], setting: Setting) -> list[ComparedRun]:
    """The rows that have the setting, by its value, each as if it had that of the first."""
    first: Configuration | None = None
    sides = []
    for side in given:
        found: dict[str, dict[Configuration, Sequence[Measurement]]] = {}
        for each, measurements in side.rows.items():
            if value := setting.text(each):
                first = first or each
                found.setdefault(value, {})[setting.copied(each, first)] = measurements
        # What one run has measured in turn is compared launch by launch.
        rounds = {m.launch: m.launch for m in side.run.measurements} if len(given) == 1 else None
        for value in _in_order(setting, side, found):
            rows = found[value]
            name = f"{setting.title} {value}"
            name += f", {side.name}" if len(given) > 1 else ""
            sides.append(side._replace(name=name, rows=rows, rounds=rounds, by=setting.title))
    return sides


def _in_order(setting: Setting, side: ComparedRun, found: Iterable[str]) -> list[str]:
    """These values in the order of the plan, the base first; a run measures in random order."""
    asked = side.run.header.plan.get(setting.name)
    texts = {setting.text(each): str(setting.of(each)) for each in side.rows}
    order = [*map(str, asked)] if isinstance(asked, list) else []
    return sorted(found, key=lambda text: _place(order, texts[text]))


def _place(order: Sequence[str], value: str) -> int:
    return order.index(value) if value in order else len(order)


# In what rows differ.

# The settings that are named first.
_FIRST = ("window", "wait", "memory", "pages", "buffers", "cache")


def aspects(rows: Iterable[Configuration]) -> dict[str, Callable[[Configuration], str]]:
    """What rows may differ in, in words, and its value in a row."""
    settings = [*ordered(_FIRST), *(extra_setting(name) for name in extra_names(rows))]
    return {
        "transport": lambda each: each.transport,
        "pattern": lambda each: each.pattern,
        "mode": lambda each: each.mode,
        "size": lambda each: format_size(each.known_size),
        **{setting.title: setting.text for setting in settings},
        "pair": lambda each: f"{each.pair[0]}-{each.pair[1]}",
        "thread": lambda each: str(each.thread),
        "concurrent pairs": lambda each: str(each.concurrency),
        "variant": lambda each: in_words(each.variant),
    }


def unlike(
    base: Iterable[Configuration],
    new: Iterable[Configuration],
    refusal: Callable[[Configuration, Configuration], str] = lambda *_: "",
) -> str:
    """In what these rows of two runs differ that are not the same, in words, and how to compare
    them: ``they differ in socket buffer: system, 8K; --by socket-buffer compares them``. `refusal`
    says why two that may be the same are not compared without --anyway; empty where they are."""
    one, other = [*base], [*new]
    if may_be := partners(one, other, match_unknown=True):
        titles = named(unknown_of(may_be).one)
        said = f"{counted(len(may_be), 'row')} may be the same, but one run does not say {titles}"
        refused = {refusal(*pair) for pair in may_be.items()}
        if "" not in refused:
            # All that it takes is said at once.
            return f"{'; '.join([said, *sorted(refused)])}; --match-unknown --anyway compares them"
        return f"{said}; --match-unknown compares them"
    apart = {}
    for name, of in aspects([*one, *other]).items():
        sides = [{of(each) for each in side} - {""} for side in (one, other)]
        if all(sides) and sides[0].isdisjoint(sides[1]):
            apart[name] = sides
    if not apart:
        return "no setting of all is the same; --anyway compares what it can"
    said = "; ".join(f"{name}: {_both(*sides)}" for name, sides in apart.items())
    options = {setting.title: _option(setting) for setting in SETTINGS.values()}
    hint = "" if {"transport", "size"} & apart.keys() else "; --anyway compares them"
    if len(apart) == 1 and (name := next(iter(apart))) in options:
        hint = f"; --by {options[name]} compares them"
    return f"they differ in {said}{hint}"


def named(titles: Sequence[str]) -> str:
    """The first of these settings, and how many more there are."""
    more = len(titles) - _MOST_SETTINGS
    return ", ".join(titles[:_MOST_SETTINGS]) + (f" and {more} more" if more > 0 else "")


def _both(one: set[str], other: set[str]) -> str:
    """The values of both sides."""
    between = ", " if len(one) == len(other) == 1 else " and "
    return f"{_few(one)}{between}{_few(other)}"


def _few(values: set[str]) -> str:
    in_order = sorted(values, key=lambda each: (len(each), each))
    return ", ".join(in_order[:_MOST_NAMED]) + (" ..." if len(in_order) > _MOST_NAMED else "")
