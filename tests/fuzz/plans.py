"""Plans and command lines that nobody would write: each is a plan within the limits, or refused."""

import json
import random
import sys
from pathlib import Path

from halftrip.errors import UsageError
from halftrip.plan.cost import MOST_CONFIGURATIONS, cost_of
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.plan.options import OPTIONS
from halftrip.plan.plan import plan_record
from halftrip.results import records
from halftrip.results.run_file import encode
from halftrip.transports.refusals import check_possible

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.trials import Harness, Input, main

_DIGITS = ("0", "1", "2", "7", "64", "4096", "65536", "1" + "0" * 15, "9" * 400, "9" * 5000)
_ATOMS = (
    *_DIGITS,
    *("-1", "0.5", "1e308", "1e999", "nan", "inf", "-0", "0x" + "f" * 4000, "1_000", "²", "8K"),
    *("", " ", ",", ":", "..", "*", "+", "%", "-", "=", "none", "own", "all", "a", "8,", ",8"),
    *("1..4M", "1..4M*1.0000001", "0..4000+4", "0..1G+1", "1:4M", "4..1", "1..", "..1", "0-99999"),
    *("\x1b[31m", "\udc80", "\U0010ffff", "\u202e", *"\0é\n\t'\"\\[{"),
)


def _names(draw: random.Random) -> str:
    """A value that some option has, so that others are reached beside it."""
    option = OPTIONS[draw.choice(sorted(OPTIONS))]
    return draw.choice(sorted(option.values)) if option.values else draw.choice(_ATOMS)


def text(draw: random.Random) -> str:
    parts = [_names(draw) if draw.random() < 0.5 else draw.choice(_ATOMS) for _ in range(2)]
    return draw.choice(("", ",", ":", "..")).join(parts[: draw.randint(1, 2)])


def options(draw: random.Random) -> dict[str, object]:
    """The options of a command line."""
    found: dict[str, object] = {}
    for name in draw.sample(sorted(OPTIONS), draw.randint(1, 4)):
        option = OPTIONS[name]
        own = draw.choice(sorted(option.values)) if option.values else draw.choice(_ATOMS)
        found[name] = True if option.is_flag else own if draw.random() < 0.7 else text(draw)
    return found


def toml(draw: random.Random) -> str:
    """A plan, more or less in TOML."""
    lines = []
    for _ in range(draw.randint(1, 5)):
        name = draw.choice([*sorted(OPTIONS), "part", "simulated.segments", "nonsense"])
        name = name.replace("_", draw.choice("_-"))
        lines.append(draw.choice(("", "", "", "[[part]]\n", f"[{name}]\n")) + _line(draw, name))
    return "\n".join(lines)


def _line(draw: random.Random, name: str) -> str:
    deep = draw.choice((0, 1, 1, 2, 30, 3000))
    value = draw.choice((draw.choice(_ATOMS), f'"{text(draw)}"', "true", "1979-05-27", "{a=1}"))
    many = draw.choice((1, 1, 2, 1000)) if deep == 1 else 1
    return f"{name} = {'[' * deep}{', '.join([value] * many)}{']' * deep}"


def draw_input(draw: random.Random) -> Input:
    if draw.random() < 0.5:
        return Input("options", json.dumps(options(draw)).encode())
    return Input("toml", toml(draw).encode("utf-8", "surrogateescape"))


def attempt(tried: Input, folder: Path, draw: random.Random | None = None) -> bool:
    """Makes a plan. What else than UsageError it raises would end the program."""
    try:
        if tried.what == "options":
            layer = options_layer(json.loads(tried.content))
        else:
            path = folder / "plan.toml"
            path.write_bytes(tried.content)
            layer = file_layer(path)
        plan = make_plan(layer)
        check_possible(plan)
    except UsageError:
        return False
    # A run file can hold it, and it can be made.
    encode(records.Header(version=1, halftrip="", started="", command=[], plan=plan_record(plan)))
    assert cost_of(plan, plan.ranks or 2).configurations <= MOST_CONFIGURATIONS
    return True


HARNESS = Harness("plans", draw_input, attempt, slowest=2.0)

if __name__ == "__main__":
    sys.exit(main(HARNESS))
