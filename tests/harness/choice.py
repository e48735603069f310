"""Which of many cases are tested: with FULL=1 in the environment all, else a few of them."""

import os
import random

import pytest

FULL = os.environ.get("FULL") == "1"
# How many seeds what is drawn has, from 0 on.
TRIALS = int(os.environ.get("TRIALS", "1"))


def drawn(cases, count, seed=1):
    """So many of the cases, the same ones each time."""
    cases = list(cases)
    return cases if FULL or len(cases) <= count else random.Random(seed).sample(cases, count)


def extended(*cases):
    """Cases for parametrize that are tested by all tests, and not by the quick ones."""
    return [
        pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.extended)
        for each in cases
    ]
