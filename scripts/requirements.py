"""Prints what halftrip with an extra needs beside itself, a requirement in a line: it is fetched
while halftrip compiles.

Usage: requirements.py EXTRA"""

import re
import sys
import tomllib
from collections.abc import Iterator

with open("pyproject.toml", "rb") as file:
    PROJECT = tomllib.load(file)["project"]


def needs(extra: str) -> Iterator[str]:
    for requirement in PROJECT["optional-dependencies"][extra]:
        if others := re.fullmatch(r"halftrip\[(.*)\]", requirement):
            for other in others[1].split(","):
                yield from needs(other)
        else:
            yield requirement


print("\n".join([*PROJECT["dependencies"], *needs(sys.argv[1])]))
