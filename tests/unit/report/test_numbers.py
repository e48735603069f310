"""How numbers are written, with the digits that their intervals support."""

import math

import pytest

from halftrip.report.numbers import factor_texts
from halftrip.stats.estimate import Estimate


@pytest.mark.parametrize(
    ("factor", "written"),
    [
        ((1.1, 1.04, 1.234), ("1.10", "1.04", "1.23")),
        ((1.1, 1.01, 1.134), ("1.10", "1.01", "1.13")),
        ((1.0, 0.98, 1.1), ("1.0", "1.0", "1.1")),
        ((1.3, 1.07, 1.5), ("1.3", "1.1", "1.5")),
        ((2.0, 1.972, 2.028), ("2.00", "1.97", "2.03")),
        ((459.8, 301.2, 1204.0), ("460", "300", "1,200")),
        ((46643.4, 20607.0, 137586.0), ("47,000", "21,000", "138,000")),
        ((150.0, 1.3, 5000.0), ("150", "1.3", "5,000")),
        ((159.0, 4.9, 189.0), ("160", "4.9", "190")),
        ((0.0, 0.0, 5.0), ("0", "0", "5")),
        ((461.4, 459.2, 463.9), ("461", "459", "464")),
        ((461.0, 461.0, 461.0), ("461", "461", "461")),
        ((0.0204, 0.0203, 0.0206), ("0.0204", "0.0203", "0.0206")),
        ((2.0, 0.001, 1e9), ("2.0", "0", "any")),
        ((2.0, 2.0, 2.0), ("2.00", "2.00", "2.00")),
        ((2.0, math.nan, math.nan), ("2.00", "-", "-")),
    ],
)
def test_a_factor_and_its_interval_have_the_same_decimals(factor, written):
    assert factor_texts(Estimate(*factor)) == written
