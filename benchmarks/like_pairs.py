"""How many rows `halftrip compare` calls changed in pairs of like runs, and how many of a change
that is planted in one of its paths.

python benchmarks/like_pairs.py runs/*.jsonl
python benchmarks/like_pairs.py --planted 1.05 --planted 1.1 runs/*.jsonl
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip.analysis.compared_run import ComparedRun, Rows
from halftrip.analysis.comparison import Comparison, compare
from halftrip.results.records import Measurement
from halftrip.results.run_file import load

CHANGED = ("slower", "faster")


class Called(NamedTuple):
    """How many of so many `rows`, each in each state, are called changed, and in how many of the
    pairs; and how many of the `planted` ones are called so, slower or faster."""

    rows: int
    changed: int
    pairs: int
    planted: int
    found: int


def called(sides: Sequence[ComparedRun], path: str = "", factor: float = 1.0) -> Called:
    """Of all pairs, where the rows of a `path` take `factor` times as long in the second run."""
    total = Called(0, 0, 0, 0, 0)
    for base, new in itertools.combinations(sides, 2):
        (found,) = compare(base, [new._replace(rows=slower(new.rows, path, factor))])
        own = _called(found, path, CHANGED[0] if factor > 1 else CHANGED[1])
        total = Called(*(a + b for a, b in zip(total, own, strict=True)))
    return total


def _called(found: Comparison, path: str, word: str) -> Called:
    planted = [each for each in found.rows if each.configuration.transport == path]
    rest = [each for each in found.rows if each.configuration.transport != path]
    changed = sum(each.word in CHANGED for each in rest)
    right = sum(each.word == word for each in planted)
    return Called(len(rest), changed, int(changed > 0), len(planted), right)


def slower(rows: Rows, path: str, factor: float) -> Rows:
    """The rows, those of a path with times that are `factor` times as long."""
    return {
        each: [_slower(one, factor) for one in measured] if each.transport == path else measured
        for each, measured in rows.items()
    }


def _slower(found: Measurement, factor: float) -> Measurement:
    blocks = [
        msgspec.structs.replace(block, times=np.rint(block.times * factor).astype(np.int64))
        for block in found.blocks
    ]
    return msgspec.structs.replace(found, blocks=blocks)


def main(options: Mapping[str, Sequence[str]]) -> None:
    sides = [ComparedRun.of(load(path), path) for path in options["files"]]
    like = called(sides)
    share = like.changed / like.rows
    print(f"{like.changed} of {like.rows} rows changed ({share:.2%}), in {like.pairs} pairs")
    paths = dict.fromkeys(each.transport for side in sides for each in side.rows)
    for factor, path in itertools.product(map(float, options["planted"]), paths):
        own = called(sides, path, factor)
        print(
            f"{path} {factor:g} times as long: {own.found} of {own.planted} rows found "
            f"({own.found / own.planted:.1%}); {own.changed} of {own.rows} others changed"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--planted", action="append", default=[], metavar="FACTOR")
    main(vars(parser.parse_args()))
