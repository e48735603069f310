"""Libfabric's fabtests, as fi_rdm_pingpong, fi_msg_bw, fi_rma_bw: usec/xfer is the mean time of a
message.

They round as fi_pingpong does, and print the same columns but one. All print the same table: the
bytes of a ping-pong are those of both directions, and those of a bandwidth of one, which tells the
two apart; which test it is, a command above says, or --test. Both ends of fi_rma_bw write, or read,
at the same time, and prints one direction. Both ends of a test print.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from halftrip.results.configuration import UNKNOWN
from halftrip.results.patterns import Mode, Pattern
from halftrip.tools.commands import Program, told
from halftrip.tools.fi_pingpong import checked
from halftrip.tools.lines import Lines, WrongLineError, number, quoted, window, wrong
from halftrip.tools.tables import (
    End,
    Format,
    TableRow,
    ToolTable,
    below,
    by_bandwidth,
    settings,
    timed,
)

TOOL = "fabtests"
_NAMES = ("bytes", "iters", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec")
_HEADING = re.compile(r"\s+".join(_NAMES) + r"\s*")
# A client has arguments, at least the server's name.
_PROGRAM = Program(r"fi_[a-z_]*(?:pingpong|bw)(?=\s+\S)", "fi_", "usec/xfer")
_CALLED, _ASKED_WINDOW, _OPERATION = r"^fi_(\w+)", r"\s-W *(\S+)", r"\s-o *(\S+)"
_TEST = re.compile(
    r"(?:fi_)?((?:msg|rdm|rdm_tagged|rdm_cntr|dgram)_pingpong|(?:msg|rdm|rdm_tagged)_bw|rma_bw)"
)
_OPERATIONS: dict[str, Pattern] = {"write": "put", "read": "get"}
_WINDOW = "64"


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    called = told(lines, first, _PROGRAM, _CALLED)
    said = lines.test or ("" if called in (None, UNKNOWN) else called) or ""
    test = _TEST.fullmatch(said)
    if said and test is None:
        wrong(first, f"{quoted(said)} is not read here: pingpong and bw of msg and rdm, and rma_bw")
    name = test[1] if test else ""
    ways = 2 if not name or name.endswith("pingpong") else 1
    if not name and _is_one_way(lines, first):
        wrong(first, "a bandwidth, and no command above says of which test; --test rdm_bw does")
    rows = lines.rows(first, lambda line, text: _row(line, text, ways), decimals=False)
    pattern, mode, fields = _kind(lines, first, name, by_command=not lines.test)
    variant = (("test", name + ", both ends at once" * (name == "rma_bw")),) if name else ()
    end = End() if ways == 2 else None
    configuration = settings("libfabric", pattern, mode, variant=variant, **fields)
    return [ToolTable(TOOL, first, configuration, "mean", rows, end=end)]


def _is_one_way(lines: Lines, first: int) -> bool:
    """Whether the first row is that of a bandwidth."""
    for line, text in lines.below(first):
        for ways in (2, 1):
            with contextlib.suppress(WrongLineError):
                _row(line, text, ways)
                return ways == 1
    return False


def _kind(
    lines: Lines, line: int, name: str, by_command: bool
) -> tuple[Pattern, Mode, dict[str, Any]]:
    """The pattern of a test, its mode, and its window, where its command says which test it is."""
    if not name.endswith("bw"):
        return "pingpong", "blocking", {"places": "own"}
    asked = (told(lines, line, _PROGRAM, _ASKED_WINDOW) or _WINDOW) if by_command else UNKNOWN
    fields = {"window": None if asked == UNKNOWN else window(line, asked)}
    if name != "rma_bw":
        return "stream", "nonblocking", fields
    operation = (told(lines, line, _PROGRAM, _OPERATION) if by_command else None) or "write"
    if operation not in _OPERATIONS:
        wrong(line, f"-o {quoted(operation)} is not read here: {', '.join(_OPERATIONS)}")
    return _OPERATIONS[operation], "onesided", fields


def _row(line: int, text: str, ways: int) -> TableRow:
    figures = below(line, _NAMES, text.split())
    size, count = checked(line, figures, figures["iters"], ways)
    if ways == 1:
        bandwidth = 1e6 * number(line, figures["MB/sec"])
        return by_bandwidth(line, size, bandwidth, 1e4, figures)
    return timed(line, size, figures["usec/xfer"], 1e3, figures, iterations=count or None)


FORMAT = Format("fabtests of libfabric", _read, marks=("usec/xfer",), begins=_HEADING)
