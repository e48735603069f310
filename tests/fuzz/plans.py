"""Plans and command lines that nobody would write, drawn by a seed: each is a plan within the
limits, or one line.

    python tests/fuzz/plans.py --inputs 1000000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from halftrip.errors import UsageError
from halftrip.plan.cost import MOST_CONFIGURATIONS, cost_of
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.plan.options import OPTIONS
from halftrip.plan.plan import plan_record
from halftrip.results.run_file import encode, records
from halftrip.transports.refusals import check_possible

# No input may take longer, s of processor time.
LONGEST_SECONDS = 2.0
_DIGITS = ("0", "1", "2", "7", "64", "4096", "65536", "1" + "0" * 15, "9" * 400, "9" * 5000)
_ATOMS = (
    *_DIGITS,
    *("-1", "0.5", "1e308", "1e999", "nan", "inf", "-0", "0x" + "f" * 4000, "1_000", "²", "8K"),
    *("", " ", ",", ":", "..", "*", "+", "%", "-", "=", "none", "own", "all", "a", "8,", ",8"),
    *("1..4M", "1..4M*1.0000001", "0..4000+4", "0..1G+1", "1:4M", "4..1", "1..", "..1", "0-99999"),
    *(
        "\x1b[31m",
        "\0",
        "\udc80",
        "é",
        "\U0010ffff",
        "\u202e",
        "\n",
        "\t",
        "'",
        '"',
        "\\",
        "[",
        "{",
    ),
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


def check(draw: random.Random, directory: Path) -> None:
    """Makes a plan of one input. Raises what no user may see."""
    if draw.random() < 0.5:
        given = options(draw)
        layer, shown = (lambda: options_layer(given)), repr(given)
    else:
        content = toml(draw)
        path = directory / "plan.toml"
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        layer, shown = (lambda: file_layer(path)), content
    began = time.process_time()
    try:
        plan = make_plan(layer())
        check_possible(plan)
    except UsageError:
        # What else it raises ends the program.
        plan = None
    if plan is not None:
        # A run file can hold it, and it can be made.
        encode(
            records.Header(version=1, halftrip="", started="", command=[], plan=plan_record(plan))
        )
        assert cost_of(plan, plan.ranks or 2).configurations <= MOST_CONFIGURATIONS
    took = time.process_time() - began
    assert took < LONGEST_SECONDS, f"{took:.1f} s: {shown[:2000]}"


def run(inputs: int, seed: int, seconds: float = float("inf")) -> int:
    """Tries so many inputs, at most for so long; how many were tried."""
    ends = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as directory:
        for number in range(inputs):
            if time.monotonic() > ends:
                return number
            try:
                check(random.Random(f"{seed} {number}"), Path(directory))
            except BaseException:
                print(f"input {number} of seed {seed}", file=sys.stderr)
                raise
    return inputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parsed = parser.parse_args()
    print(f"{run(parsed.inputs, parsed.seed)} plans and command lines: each a plan or one line")


if __name__ == "__main__":
    main()
