"""What a map says in words: which places belong together, which pairs are off the others of their
groups, and which way takes longer than the other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from halftrip.analysis.core_map import SIBLINGS
from halftrip.report.document import Document
from halftrip.report.numbers import factor_texts, number
from halftrip.stats.difference import Difference, differ
from halftrip.stats.estimate import Estimate
from halftrip.stats.grouping import Grouping, Off, grouped
from halftrip.views.matrices import Matrix, matrices

# More groups, and more of what is off, are counted.
_MOST_GROUPS, _MOST_OFF = 8, 5
# One way takes longer where it surely takes this many times as long.
_UNEVEN = 1.1
# How often chance may name one, in a whole map.
_CHANCE = 0.05
# Of two places nothing can be told; of three, which of them is off cannot.
_FEWEST, _FEWEST_TO_TELL = 3, 4


def lines(document: Document) -> list[str]:
    """All that the maps of a run say, each with what it is about, and what cores share. Of one
    figure of those that go with the same times."""
    found: list[str] = []
    known: list[str] = []
    for _, made in matrices(document):
        for each in made[:1]:
            about = each.title.rpartition(":")[0]
            found += [f"{about}: {line}" for line in said_of(each)]
            known = known or shared_by(each)
    return [*found, *known]


def said_of(matrix: Matrix) -> list[str]:
    """What a map of cores, or of memory, says."""
    if matrix.across:
        return _uneven(matrix)
    return _of_cores(matrix) if matrix.head == "core" else []


def shared_by(matrix: Matrix) -> list[str]:
    """What the places share, as the kernel tells."""
    return [
        f"by the kernel, these share {with_article(name)}: {_groups(groups)}"
        for name, groups in matrix.groups
    ]


def _of_cores(matrix: Matrix) -> list[str]:
    known = matrix.times()
    # Of a core without a pair nothing is known: it hides nothing of the others.
    measured = {name for link in known if link[0] != link[1] for name in link}
    hosts = [name for name in matrix.hosts if name in measured]
    of_those = [(name, _only(groups, measured)) for name, groups in matrix.groups]
    matrix = replace(matrix, hosts=hosts, groups=of_those)
    places = {name: number for number, name in enumerate(matrix.hosts)}
    times = {}
    for link, values in known.items():
        one, other = sorted(map(places.__getitem__, link))
        if one != other:
            times[one, other] = values
    if len(places) < _FEWEST:
        return []
    found = grouped(times)
    said = [_belong(matrix, each) for each in found.groupings]
    for each in found.off[:_MOST_OFF]:
        names = [matrix.hosts[place] for place in each.places]
        if len(names) == 1:
            what = f"core {names[0]} is off on all its {each.links} pairs"
        else:
            what = f"{matrix.called(*names)} is off"
        like = "others like them" if len(names) == 1 else "pairs of the same groups"
        said.append(f"{what}: {_factor(each)} x what {like} take")
    if len(found.off) > _MOST_OFF:
        said.append(f"and {len(found.off) - _MOST_OFF} more are off")
    if said:
        return said
    if len(places) < _FEWEST_TO_TELL:
        return [f"it takes {_FEWEST_TO_TELL} cores to tell which belong together, or are off"]
    return ["no cores belong together more than others, and no pair is off"]


def _only(groups: Sequence[Sequence[str]], names: Collection[str]) -> list[list[str]]:
    """The groups without all other names."""
    found = ([each for each in group if each in names] for group in groups)
    return [group for group in found if group]


def _belong(matrix: Matrix, found: Grouping) -> str:
    groups = [[matrix.hosts[place] for place in group] for group in found.groups]
    unit, scale = ("ns", 1.0) if matrix.figure.unit == "ns" else ("us", 1e3)
    within, between = (number(each / scale, 3) for each in (found.within, found.between))
    known = {frozenset(map(frozenset, each)): name for name, each in matrix.groups}
    name = known.get(frozenset(map(frozenset, groups)))
    why = ""
    if matrix.groups:
        why = (
            f", as they share {with_article(name)}" if name else ", which the kernel does not tell"
        )
    factor = _factor(found)
    times = f"{within} {unit} within, {between} {unit} from one to another: {factor} x"
    return f"cores belong together: {_groups(groups)}: {times}{why}"


def with_article(name: str) -> str:
    """``an L3 cache``; of siblings, what these share."""
    if name == SIBLINGS:
        return "a physical core"
    return f"{'an' if name.startswith('L') else 'a'} {name}"


def _groups(groups: Sequence[Sequence[str]]) -> str:
    """``0-3 | 4-7``; of many groups the first, and how many there are."""
    several = [each for each in groups if len(each) > 1]
    alone = [name for each in groups if len(each) == 1 for name in each]
    said = [_ranges(each) for each in several[:_MOST_GROUPS]]
    if len(several) > _MOST_GROUPS:
        said.append(f"and {len(several) - _MOST_GROUPS} more")
    if alone:
        said.append(f"alone: {_ranges(alone)}")
    return " | ".join(said)


def _ranges(names: Iterable[str]) -> str:
    """Numbers as the kernel lists them: ``0-3,8``; other names as they are."""
    names = list(names)
    if not all(re.fullmatch(r"[0-9]{1,9}", each) for each in names):
        return ", ".join(names)
    spans: list[list[int]] = []
    for each in sorted(map(int, names)):
        if spans and each == spans[-1][1] + 1:
            spans[-1][1] = each
        else:
            spans.append([each, each])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def _factor(found: Grouping | Off | Estimate) -> str:
    """``1.6 (95 %: 1.5 to 1.7)``."""
    factor = found.value if isinstance(found, Estimate) else found.factor
    value, low, high = factor_texts(Estimate(factor, found.low, found.high))
    return f"{value} (95 %: {low} to {high})"


def _uneven(matrix: Matrix) -> list[str]:
    """Which way between two kinds of memory, or two nodes, surely takes longer than the other: as
    long as chance would have it in one of twenty maps."""
    times = matrix.times()
    names = dict.fromkeys((*matrix.hosts, *matrix.columns))
    pairs = [pair for pair in combinations(names, 2) if pair in times and pair[::-1] in times]
    found: list[tuple[Difference, str]] = []
    for one, other in pairs:
        ways = [(one, other), (other, one)]
        slow, fast = sorted(ways, key=lambda way: -float(times[way].mean()))
        difference = differ(times[fast].tolist(), times[slow].tolist())
        if difference.low > _UNEVEN and difference.p_value * len(pairs) < _CHANCE:
            factor = Estimate(difference.ratio, difference.low, difference.high)
            said = f"{way_of(matrix, slow)}: {_factor(factor)} x the time of {way_of(matrix, fast)}"
            found.append((difference, f"asymmetric: {said}"))
    found.sort(key=lambda each: -each[0].ratio)
    return [said for _, said in found[:_MOST_OFF]]


def way_of(matrix: Matrix, way: tuple[str, str]) -> str:
    """A cell of a map in which each direction has its value, in words."""
    if matrix.head == "initiator":
        return " to ".join(way)
    return f"{matrix.head} {way[0]} with {matrix.across_head} {way[1]}"
