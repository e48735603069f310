"""What UCX prints of a connection (ucp_ep_print_info): what carries messages, and up to which size
each way of sending them is taken.

From UCX 1.16 on it prints a table for each kind of call; before, a line of thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Of UCX's interfaces, the call that sends.
_CALLS = {"tag": "ucp_tag_send", "am": "ucp_am_send", "stream": "ucp_stream_send"}
# The variable that moves the size from which on this way is taken, by a word of its name.
_SETTINGS = {
    "rendezvous": "UCX_RNDV_THRESH",
    "rndv": "UCX_RNDV_THRESH",
    "zero-copy": "UCX_ZCOPY_THRESH",
    "zcopy": "UCX_ZCOPY_THRESH",
    "bcopy": "UCX_BCOPY_THRESH",
}
# Between hosts: all others reach memory of other processes of this one.
BETWEEN_HOSTS = ("tcp", "ib", "rc", "rc_v", "rc_x", "rc_verbs", "rc_mlx5", "ud", "ud_v", "ud_x",
                 "ud_verbs", "ud_mlx5", "dc", "dc_x", "dc_mlx5", "srd")  # fmt: skip
# What the short names of older versions stand for.
_WAYS = {"egr/short": "eager short", "egr/bcopy": "eager copy-in copy-out",
         "egr/zcopy": "eager zero-copy", "rndv": "rendezvous"}  # fmt: skip
# ``lane[0]:  3:sysv/memory.0 md[2]``
_LANE = re.compile(r"lane\[\d+\]:\s+\d+:(\S+?)(?:\.\d+)?\s")
# ``resource 3  :  md 2  dev 3  flags -- sysv/memory``
_RESOURCE = re.compile(r"resource \d+\s*:.*?(\S+)$", re.MULTILINE)
# ``tag_send: 0..<egr/short>..8185..<rndv>..(inf)``
_LINE = re.compile(r"tag_send: (\S+)")
# ``|  2435..inf | (?) rendezvous ... | self/memory |``
_ROW = re.compile(r"# \|\s*(\w+)(?:\.\.\w+)? \| (.*?)\s*\|")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Switch(NamedTuple):
    """Messages of more than `size` bytes go another way: `way`. `setting` is the variable that
    moves the size; empty: none does."""

    size: int
    way: str
    setting: str


def lanes(text: str) -> list[str]:
    """What carries messages, a transport and a device each, as sysv/memory."""
    return list(dict.fromkeys(_LANE.findall(text)))


def resources(text: str) -> list[str]:
    """The transports and devices of a context, as ucp_context_print_info has them."""
    return list(dict.fromkeys(_RESOURCE.findall(text)))


def absent_devices(wanted: str, text: str) -> list[str]:
    """Of devices, with + between them, those that a context has not, which UCX takes for none
    without a word. Patterns, as UCX reads them, are left to it."""
    there = {each.partition("/")[2] for each in resources(text)}
    names = [each for each in wanted.split("+") if re.fullmatch(r"[\w.:-]+", each)]
    return [each for each in names if each not in there and each != "all"]


def switches(text: str, api: str) -> list[Switch]:
    """Where messages that are sent by an interface change to another way, ascending; none where
    UCX does not say, or where there is no such interface."""
    if api not in _CALLS:
        return []
    ways = [*_of_table(text, _CALLS[api])] or ([*_of_line(text)] if api == "tag" else [])
    return [
        Switch(first - 1, way, next((_SETTINGS[word] for word in _SETTINGS if word in way), ""))
        for first, way in ways
        # An empty message is no size, and a threshold of 0 one that is not known.
        if first > 1
    ]


def _of_table(text: str, call: str) -> Iterator[tuple[int, str]]:
    """The first size of each way, of calls that give no hint of what follows."""
    tables: Sequence[str] = re.split(r"^# \+-.*\+\n(?=# \|[^|]*cfg#)", text, flags=re.MULTILINE)
    for table in tables:
        title, _, rows = table.partition("\n")
        if re.search(rf"{call}\*? from", title) is None:
            continue
        for first, way in _ROW.findall(rows):
            number = re.fullmatch(r"(\d+)([KMG]?)", first)
            if number is not None:
                yield int(number[1]) * _UNITS[number[2]], way.removeprefix("(?) ")
        return


def _of_line(text: str) -> Iterator[tuple[int, str]]:
    found = _LINE.search(text)
    if found is None:
        return
    firsts = found[1].split("..")
    for first, way in zip(firsts[::2], firsts[1::2], strict=False):
        if first.isdecimal():
            name = way.strip("<>")
            yield int(first), _WAYS.get(name, name)
