"""Mutations of run files: of their bytes, of the values in their records, and of their lines.

All are drawn from a generator with a seed, so that the number of an input gives it again.
"""

import copy
import json
import random
import re

# What numbers, texts and other values are replaced by. Strings stand for themselves in JSON.
_NUMBERS = [
    0, 1, -1, 2, 3, 0.0, -0.0, 0.5, -0.5, 1.5, 7, 63, 64, 100, 1000, 4096, 65536, 10**6, 10**7,
    10**9, 10**12, 10**15, 10**17, 10**18, (1 << 31) - 1, 1 << 31, (1 << 53) + 1,
    (1 << 62), 1 << 63, -(1 << 63), 1 << 64, 10**30, -(10**15), 1e-300, 1e-9,
    1e300, 1e308, -1e308, 5e-324,
]  # fmt: skip
_RAW = [
    "1e400", "-1e999", "NaN", "Infinity", "9" * 400, "9" * 5000, "0." + "3" * 400, "1e-400", "-0",
    "[" * 1000, "[" * 1000 + "]" * 1000, '{"a":' * 600 + "1" + "}" * 600, '"\\ud800"',
    '"\\udc00\\ud800"', '"' + "x" * 5000 + '"', '"\\u0000"',
]  # fmt: skip
_TEXTS = [
    "", " ", "\n", "a\nb", "\x1b[2J\x1b[31m", "\x9b2J", "\u202e", "\x00", "tcp", "shm", "pingpong",
    "stream", "bidirectional", "exchange", "put", "get", "onesided", "nonblocking", "spin", "block",
    "simulated", "all", "before", "during", "user", "cold", "same", "far", "near", "|", "\\",
    "%&$#_{}~^", "[bold red]x[/]", "[/]", "é" * 30, "x" * 300, "1", "-", "0-1", "2026-01-31",
    "0001-01-01", "+",
]  # fmt: skip
_OTHERS = [None, True, False, [], {}, [[]], [None], [0], [1, 2, 3], {"": 0}, [{}], [0] * 50]
_LINES = [b"\n", b"{}\n", b"null\n", b"[]\n", b"\xff\n", b"7"]
# A name, and a value that is no object: a list of plain values, a text, or a number.
_FIELD = re.compile(r'"(\w+)":(\[[^][{}"]*\]|"[^"\\]*"|[\w.+-]+)')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def mutated(lines: list[bytes], draw: random.Random) -> bytes:
    """The lines of a run file with one to four mutations."""
    lines = list(lines)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 4))):
        lines = draw.choices(_MUTATIONS, _WEIGHTS)[0](lines, draw) or [b"\n"]
    return b"".join(lines)


def _bytes(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """Bytes of a line are changed, added, left out, or cut off."""
    number = _line(lines, draw)
    line = bytearray(lines[number])
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        place = draw.randrange(len(line) + 1)
        match draw.randrange(6):
            case 0:
                line[place : place + 1] = bytes([draw.randrange(256)])
            case 1:
                line[place:place] = bytes([draw.randrange(256)])
            case 2:
                del line[place : place + draw.choice((1, 1, 2, 10, 100))]
            case 3 if place < len(line):
                line[place] ^= 1 << draw.randrange(8)
            case 4:
                piece = line[place : place + draw.choice((1, 5, 50))]
                line[place:place] = piece
            case _:
                line[place:place] = draw.choice((b'"', b"{", b"}", b"[", b"]", b",", b":", b"\n"))
    return [*lines[:number], bytes(line), *lines[number + 1 :]]


def _digits(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """A number, as it stands there, becomes another, or something that is none."""
    number = _line(lines, draw)
    text = lines[number].decode("utf-8", "surrogateescape")
    found = list(_NUMBER.finditer(text))
    if not found:
        return lines
    match = draw.choice(found)
    new = draw.choice(_RAW) if draw.random() < 0.2 else json.dumps(draw.choice(_NUMBERS))
    text = text[: match.start()] + new + text[match.end() :]
    return [*lines[:number], text.encode("utf-8", "surrogateescape"), *lines[number + 1 :]]


def _values(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """Values of a record become others, are left out, or said twice."""
    number = _line(lines, draw)
    try:
        record = json.loads(lines[number])
        for _ in range(draw.choice((1, 1, 2, 3))):
            _change(record, draw)
        line = json.dumps(record, separators=(",", ":"), ensure_ascii=draw.random() < 0.5)
        made = line.encode("utf-8", "surrogatepass") + b"\n"
    except (ValueError, RecursionError):
        # Another mutation was here before.
        return lines
    return [*lines[:number], made, *lines[number + 1 :]]


def _change(record: object, draw: random.Random) -> None:
    """Changes one value inside of a record."""
    places = []
    left = [record]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            inside = list(each.items())
        elif isinstance(each, list):
            # Long lists are of samples: one of them is as good as another.
            inside = list(enumerate(each[:12]))
        else:
            continue
        places += [(each, key, value) for key, value in inside]
        left += [value for _, value in inside]
    if not places:
        return
    # Places deep inside are the most; every depth gets its turn.
    holder, key, value = draw.choice(places)
    what = draw.randrange(10)
    if what == 0:
        del holder[key]
    elif what == 1 and isinstance(holder, list):
        holder[key:key] = [copy.deepcopy(value) for _ in range(draw.choice((1, 2, 30)))]
    elif what == 2 and isinstance(holder, dict):
        holder[draw.choice(_TEXTS)] = copy.deepcopy(value)
    elif what == 3 and isinstance(value, list):
        holder[key] = value[: draw.randrange(len(value) + 1)]
    elif what == 4:
        other = draw.choice(places)[2] if draw.random() < 0.5 else draw.choice(_OTHERS)
        # A copy: what holds this place must not stand in it.
        holder[key] = copy.deepcopy(other)
    else:
        holder[key] = copy.deepcopy(_like(value, draw))


def _like(value: object, draw: random.Random) -> object:
    """Another value, most often of the same kind."""
    if draw.random() < 0.1:
        return draw.choice((*_OTHERS, *_NUMBERS, *_TEXTS))
    if isinstance(value, bool) or value is None:
        return draw.choice((True, False, None, draw.choice(_NUMBERS), draw.choice(_TEXTS)))
    if isinstance(value, int):
        return draw.choice((*[n for n in _NUMBERS if isinstance(n, int)], value + 1, value * 1000))
    if isinstance(value, float):
        return draw.choice((*_NUMBERS, -value, value * 1e6, value * 1e-6))
    if isinstance(value, str):
        return draw.choice((*_TEXTS, value + draw.choice(_TEXTS)))
    if isinstance(value, list) and value and isinstance(value[0], int | float):
        one = draw.choice(_NUMBERS)
        return draw.choice(([one] * len(value), [one], value[::-1], value * 3, [*value, one]))
    return draw.choice(_OTHERS)


def _everywhere(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """A field becomes another value in all records that have it, or all numbers of its list."""
    whole = b"".join(lines).decode("utf-8", "surrogateescape")
    names = sorted({match[1] for match in _FIELD.finditer(whole)})
    if not names:
        return lines
    name = draw.choice(names)
    number = draw.choice((*_NUMBERS, *range(2, 7)))
    new = json.dumps(draw.choice((number, draw.choice(_TEXTS), draw.choice(_OTHERS))))

    def changed(match: re.Match[str]) -> str:
        if match[1] != name:
            return match[0]
        is_list = match[2].startswith("[")
        value = f"[{_NUMBER.sub(json.dumps(number), match[2][1:])}" if is_list else new
        return f'"{name}":{value}'

    whole = _FIELD.sub(changed, whole)
    return whole.encode("utf-8", "surrogateescape").splitlines(keepends=True)


def _records(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """Lines are left out, repeated, swapped, or come from elsewhere."""
    first, second = _line(lines, draw), _line(lines, draw)
    lines = list(lines)
    match draw.randrange(5):
        case 0:
            del lines[first]
        case 1:
            lines[second:second] = [lines[first]] * draw.choice((1, 1, 2, 8))
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            lines = lines[: max(1, first)]
        case _:
            lines[first:first] = [draw.choice(_LINES)]
    return lines


def _renamed(lines: list[bytes], draw: random.Random) -> list[bytes]:
    """Another version of the format."""
    version = draw.choice((0, 2, 10, -1, "true", "1.0", '"1"'))
    said = b'"version":%s' % str(version).encode()
    return [re.sub(rb'"version":\d+', said, lines[0]), *lines[1:]]


def _line(lines: list[bytes], draw: random.Random) -> int:
    """The number of a line; seldom the first, without which there is no file."""
    if len(lines) == 1 or draw.random() < 0.05:
        return 0
    return draw.randrange(1, len(lines))


_MUTATIONS = (_values, _everywhere, _digits, _bytes, _records, _renamed)
_WEIGHTS = (45, 20, 15, 10, 9, 1)
