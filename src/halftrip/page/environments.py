"""The environments of hosts, or of several runs, beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from halftrip.analysis.environments import facts
from halftrip.render.blocks import Block, Legend, text_table
from halftrip.report.numbers import NOTHING
from halftrip.results.run import Run
from halftrip.texts import printable
from halftrip.views.side_by_side import letters

# More hosts stand together in one column.
_MOST_HOSTS = 8
# Of a longer text, a table has the beginning.
_LONGEST = 300
_DIFFER_SAYS = "≠: it is not the same in all columns."


def of_hosts(run: Run) -> list[Block]:
    """What is known of the hosts of a run, a column for each; none where nothing is."""
    hosts = [*dict.fromkeys(each.host for each in run.environments)]
    if not 1 < len(hosts) <= _MOST_HOSTS:
        known = facts(run)
        return _table(f"The hosts of this run{_names(hosts)}", ["value"], [known])
    parts = [
        facts(
            msgspec.structs.replace(
                run,
                environments=tuple(each for each in run.environments if each.host == host),
                connections=(),
                devices=tuple(each for each in run.devices if each.rank in _ranks_of(run, host)),
            )
        )
        for host in hosts
    ]
    return _table("The hosts of this run", hosts, parts)


def _names(hosts: Sequence[str]) -> str:
    if not hosts:
        return ""
    return f": {hosts[0]}" if len(hosts) == 1 else f": {len(hosts)} hosts"


def _ranks_of(run: Run, host: str) -> set[int]:
    return {each.rank for each in run.environments if each.host == host}


def of_runs(runs: Sequence[Run]) -> list[Block]:
    """What is known of several runs, a column for each; none where nothing is."""
    known = [facts(run) for run in runs]
    return _table("The environments of these runs", letters(len(runs)), known)


def _table(title: str, names: Sequence[str], known: Sequence[Mapping[str, str]]) -> list[Block]:
    keys = [*dict.fromkeys(key for each in known for key in each)]
    if not keys:
        return []
    values = [[printable(each.get(key, NOTHING), _LONGEST) for each in known] for key in keys]
    differing = frozenset(n for n, each in enumerate(values) if len(set(each)) > 1)
    rows = [
        [("≠ " if n in differing else "") + key, *each]
        for n, (key, each) in enumerate(zip(keys, values, strict=True))
    ]
    made = text_table(title, ["what", *names], rows)._replace(differing=differing)
    return [made, Legend([_DIFFER_SAYS])] if differing else [made]
