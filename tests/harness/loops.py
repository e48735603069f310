"""Ratios of `doctor --loops` that no machine should exceed."""

import json

# More than an instrument may add. It counts if the whole interval is above: beside other work it is
# wide.
LIMIT = 1.25


def _ratios(shell, paths, options, prefix):
    words = ("doctor", "--loops", "--json", "-t", ",".join(paths), *options)
    result = shell.halftrip(*words, prefix=prefix)
    assert result.out, result.err
    found = json.loads(result.out)
    assert found["left_out"] == {}
    assert {each["path"] for each in found["loops"]} == set(paths)
    return {(each["path"], each["pattern"], each["size"]): each for each in found["loops"]}


def check_ratios(shell, paths, *options, prefix=()):
    """That halftrip adds less than the limit to each of these paths. One that exceeds it is
    measured again."""

    def suspects(of):
        found = _ratios(shell, of, options, prefix)
        return {row: each for row, each in found.items() if each["ratio_low"] > LIMIT}

    first = suspects(paths)
    if first:
        second = suspects(tuple(dict.fromkeys(path for path, _, _ in first)))
        assert not first.keys() & second.keys(), (first, second)
