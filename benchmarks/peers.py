"""halftrip beside its peers, in turn, with the machine's bound beside every figure.

Each comparison runs its contenders A B A B ... and prints the ratio of halftrip's figure to the
peer's: its median over the rounds and its quartiles. Before and after each contender the
core-to-core round trip is probed. Virtual cores move, so only rounds count in which the machine
stayed in one state; if fewer than three did, all count.

    python benchmarks/peers.py [--rounds 11] [--only tcp,udp,hosts]
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack

from comparison import HEADING, Bound
from families import FAMILIES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default=",".join(FAMILIES), help=", ".join(FAMILIES))
    options = parser.parse_args()
    chosen = options.only.split(",")
    unknown = [name for name in chosen if name not in FAMILIES]
    if unknown:
        parser.error(f"--only: {unknown[0]!r} is not known; allowed: {', '.join(FAMILIES)}")
    bound = Bound()
    with ExitStack() as resources:
        comparisons = [comparison for name in chosen for comparison in FAMILIES[name](resources)]
        for number in range(options.rounds):
            for comparison in comparisons:
                print(f"\rround {number + 1}: {comparison.name:40}", end="", file=sys.stderr)
                comparison.run(bound)
    print(file=sys.stderr)
    print(HEADING)
    for comparison in comparisons:
        for line in comparison.report():
            print(line)


if __name__ == "__main__":
    main()
