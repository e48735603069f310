"""A line of JSON for each host: whether it is as expected, and if not, why. For programs that keep
hosts out of jobs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from halftrip.analysis.expectation import (
    Expectations,
    Judged,
    JudgedLink,
    judged,
    links_by_host,
    short_hosts,
    unjudged,
    untold,
)
from halftrip.analysis.losses import losses
from halftrip.analysis.network import Suspect, slow_by_setting
from halftrip.errors import UsageError
from halftrip.render.json import line
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.stats.median import median
from halftrip.units import significant, size_in_words
from halftrip.views.details import losses_fields, slow_fields
from halftrip.views.expected import with_unit

Verdict = Literal["ok", "unsure", "not measured", "short"]
# The worst of these is that of a host.
_ORDER: tuple[Verdict, ...] = ("ok", "unsure", "not measured", "short")
_UNITS = {"latency": "s", "bandwidth": "bytes/s", "messages": "1/s"}
# Of a host whose links failed, more than this share of them did.
_MOST_LINKS = 0.5
# So many reasons are given.
_MOST_REASONS = 3


class _Case(NamedTuple):
    """One figure, the links by which it is judged, by host, and the hosts that fall short, with
    whether they do so surely."""

    judged: Judged
    by_host: Mapping[str, Sequence[JudgedLink]]
    at_fault: Mapping[str, bool]


class _Found(NamedTuple):
    """What is found of a host, and why."""

    verdict: Verdict
    reason: str


def render(document: Document) -> str:
    """A line for each host, in the order of ranks: judged by what is expected or, where nothing is,
    by whether it is slow beside the others. Raises UsageError where only the name of what is
    expected is known."""
    wishes = document.expectations
    alone = not wishes.figures and wishes.baseline is None
    if alone and wishes.named is not None:
        raise UsageError(f"--format nodes: judged by {wishes.named}: name it again by --baseline")
    names = document.run.names
    hosts = dict.fromkeys(names.hosts[rank] for rank in sorted(names.hosts))
    hosts |= dict.fromkeys(document.run.lost_hosts)
    found = [_case(each, document) for each in judged(document)]
    failed = _failed(document)
    judged_rows = [each for one in found for each in one.judged.configurations]
    if alone:
        judged_rows = [row.configuration for row in document.rows]
    slow = _slow(document, judged_rows)
    lost = {each.host: losses_fields(each) for each in losses(document.run)}
    of_all = [_Found("not measured", said) for said in unjudged(document)]
    of_all += [_Found("unsure", f"cannot tell: {said}") for said in untold(document)]
    return "".join(
        line(
            _record(host, document, found, of_all, failed.get(host), _by_slowness(host, slow))
            | {"slow": None if slow is None else slow.get(host, []), "losses": lost.get(host)}
        )
        for host in hosts
    )


def _case(found: Judged, document: Document) -> _Case:
    """A link within a host is one of that host, not of two ranks."""
    host = document.run.names.host
    links = [
        link._replace(hosts=(host(configuration.pair[0]), host(configuration.pair[1])))
        for link, configuration in zip(found.links, found.configurations, strict=True)
    ]
    by_host = links_by_host(links)
    return _Case(found, by_host, short_hosts(by_host))


def _record(
    host: str,
    document: Document,
    found: Sequence[_Case],
    of_all: Sequence[_Found],
    failed: _Found | None,
    by_slowness: _Found,
) -> dict[str, Any]:
    wishes = document.expectations
    alone = not wishes.figures and wishes.baseline is None and document.rows
    each = [_of_figure(host, one, wishes) for one in found]
    lost = document.run.lost_hosts.get(host)
    every = [] if lost is None else [_Found("not measured", lost)]
    every += [*of_all, *([] if failed is None else [failed])]
    every += [judgement for judgement, _ in each]
    if alone or wishes.fail_if_slow:
        every.append(by_slowness)
    elif not found and not any(each.verdict == "unsure" for each in of_all):
        every.append(_Found("not measured", document.interrupted or "nothing was measured"))
    worst = max((_ORDER.index(one.verdict) for one in every), default=0)
    reasons = dict.fromkeys(one.reason for one in every if _ORDER.index(one.verdict) == worst)
    links = [link for one in found for link in one.by_host.get(host, [])]
    count = _peers(links)
    if alone:
        name = document.run.names.host
        ends = {frozenset(map(name, row.configuration.pair)) for row in document.rows}
        count = sum(host in each for each in ends)
    return {
        "host": host,
        "verdict": _ORDER[worst],
        "reason": "; ".join([*reasons][:_MOST_REASONS]) or None,
        "lost": lost is not None,
        "links": count,
        "short_links": _peers(link for link in links if link.is_sure),
        "unsure_links": _peers(link for link in links if link.is_short and not link.is_sure),
        "tolerance": wishes.tolerance,
        "figures": [fields for _, fields in each],
    }


def _peers(links: Iterable[JudgedLink]) -> int:
    """To how many hosts these links of one lead, itself included where one is within it."""
    return len({frozenset(link.hosts) for link in links})


def _of_figure(host: str, found: _Case, wishes: Expectations) -> tuple[_Found, dict[str, Any]]:
    """What one figure says of a host, and its fields: medians over the links of the host."""
    links = found.by_host.get(host, [])
    judgement = _judge(host, links, found, wishes)
    what = found.judged
    value, expected = (
        _median([getattr(link, name) for link in links]) for name in ("value", "expected")
    )
    return judgement, {
        "transport": what.transport,
        "pattern": what.pattern,
        "size_bytes": what.size,
        "variant": what.variant,
        "state": what.state,
        "figure": what.figure,
        "unit": _UNITS[what.figure],
        "value": value,
        "expected": expected,
        "against": what.against,
        "links": len(links),
        "short_links": sum(link.is_sure for link in links),
        "unsure_links": sum(link.is_short and not link.is_sure for link in links),
        "verdict": judgement.verdict,
    }


def _median(values: Sequence[float]) -> float | None:
    known = [value for value in values if math.isfinite(value)]
    return median(known) if known else None


def _judge(host: str, links: Sequence[JudgedLink], found: _Case, wishes: Expectations) -> _Found:
    """A host falls short if most of its links do, or the only one that it has; where just another
    one does, either host may be at fault, unless it is one that falls short by itself."""
    if not links:
        return _Found("not measured", f"{_what(found.judged)}: no link of it was measured")
    by_host, at_fault = found.by_host, found.at_fault
    short = [link for link in links if link.is_short]
    if host in at_fault:
        said = f"{_said(short, found, wishes)} on {len(short)} of its {len(links)} links"
        return _Found("short" if at_fault[host] else "unsure", said)
    left = [link for link in short if not at_fault.keys() & set(link.hosts)]
    if not left:
        return _Found("ok", "")
    (other,) = {*left[0].hosts} - {host} or {host}
    if len(links) == 1:
        both = other != host and len(by_host[other]) == 1
        which = "; either host may be at fault" if both else ""
        said = f"{_said(left, found, wishes)} on its only link, to {other}{which}"
        return _Found("short" if left[0].is_sure else "unsure", said)
    explained = [link for link in left if all(len(by_host[h]) == 1 for h in {*link.hosts} - {host})]
    if len(explained) == len(left):
        return _Found("ok", "")
    return _Found("unsure", f"{_said(left, found, wishes)} on its link to {other} alone")


def _what(found: Judged) -> str:
    return " ".join(
        filter(None, (found.transport, found.pattern, found.figure, found.variant, found.state))
    )


def _said(links: Sequence[JudgedLink], found: _Case, wishes: Expectations) -> str:
    what = found.judged
    value, expected = (
        with_unit(what.figure, median([getattr(link, name) for link in links]))
        for name in ("value", "expected")
    )
    by = "expected" if what.against == "expect" else "baseline"
    return f"{_what(what)} {value}, {by} {expected} {wishes.within},"


def _failed(document: Document) -> dict[str, _Found]:
    """The hosts of which a link failed: most of them, or one to a host of which few did."""
    host = document.run.names.host
    links: dict[str, set[frozenset[str]]] = {}
    broken: dict[str, dict[frozenset[str], str]] = {}
    for failure in document.failures:
        ends = frozenset(map(host, failure.configuration.pair))
        for each in ends:
            broken.setdefault(each, {}).setdefault(ends, failure.reason)
            links.setdefault(each, set()).add(ends)
    for row in document.rows:
        ends = frozenset(map(host, row.configuration.pair))
        for each in ends:
            links.setdefault(each, set()).add(ends)
    most = {h for h in broken if len(broken[h]) > _MOST_LINKS * len(links[h])}
    found: dict[str, _Found] = {}
    for each, of_host in broken.items():
        left = [why for ends, why in of_host.items() if each in most or not ends & most]
        if left:
            some = f"{len(of_host)} of its {len(links[each])} links failed: {left[0]}"
            found[each] = _Found("not measured" if each in most else "unsure", some)
    return found


def _slow(
    document: Document, configurations: Iterable[Configuration]
) -> dict[str, list[dict[str, Any]]] | None:
    """By host, where it or a link of it is named slow among all that were measured; None where
    there are too few hosts to tell."""
    by_setting = slow_by_setting(document.run, configurations)
    if all(suspects is None for _, suspects in by_setting):
        return None
    named: dict[str, list[dict[str, Any]]] = {}
    for setting, suspects in by_setting:
        for suspect in suspects or ():
            for host in suspect.hosts:
                named.setdefault(host, []).append(_slow_fields(host, suspect, setting))
    return named


def _slow_fields(host: str, suspect: Suspect, setting: Configuration) -> dict[str, Any]:
    fields = slow_fields(suspect, setting)
    return {
        **fields,
        "other_host": next((name for name in fields.pop("hosts") if name != host), None),
    }


def _by_slowness(host: str, slow: Mapping[str, Sequence[dict[str, Any]]] | None) -> _Found:
    """What is found of a host of which nothing is expected: whether it is slow beside others."""
    if slow is None:
        return _Found("unsure", "which host or link is slow cannot be told")
    found = sorted(slow.get(host, ()), key=lambda each: each["other_host"] is not None)
    if not found:
        return _Found("ok", "")
    first = found[0]
    other, factor = first["other_host"], significant(first["factor"], 3)
    where = f"all its {first['links']} links" if other is None else f"its link to {other} alone"
    said = f"{first['transport']} {first['pattern']} {size_in_words(first['size_bytes'])}"
    verdict: Verdict = "short" if other is None else "unsure"
    return _Found(verdict, f"{said}: {factor} times the usual time on {where}")
