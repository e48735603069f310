"""Numbers as people read them: how many digits they have, with their intervals, and with the sign
of a verdict."""

from __future__ import annotations

import math

from halftrip.analysis.rows import Row
from halftrip.analysis.verdict import Word
from halftrip.stats.estimate import Estimate
from halftrip.units import significant

# Stands where a figure does not exist.
_LEAST_P = 0.001
NOTHING = "-"
# Significant digits of a figure without an interval; the fewest and the most of one with it.
USUAL_DIGITS = 3
_FEWEST_DIGITS, _MOST_DIGITS = 2, 5
_DIGITS_OF_FACTORS = 2, 4
# How large the units are in which people read figures; others are as they are.
_SCALES = {"us": 1e3, "MB/s": 1e6, "GB/s": 1e9, "10^6/s": 1e6, "GHz": 1e9, "MiB": 1 << 20}
_MARKS: dict[Word, str] = {"ok": "", "caution": "~", "no": "!"}
MARKS_OF_ROWS = "~ caution   ! no"
# Of several runs.
MARKS_SAY = f"{MARKS_OF_ROWS}: see show --why of that run"
# Where an interval ends is not told beyond so many times the figure, nor below that part of it.
FARTHEST = 100.0
# An interval has two digits up to 35 of them, else one, and the figure ends where it does (Particle
# Data Group, Review of Particle Physics, introduction, 5.3).
_TWO_DIGITS_UP_TO = 3.55
_MOST_DECIMALS = 4


def number(value: float | None, digits: int = USUAL_DIGITS, scale: float = 1.0) -> str:
    """`value / scale` with at least that many significant digits; NOTHING for None and NaN."""
    if value is None or math.isnan(value):
        return NOTHING
    return significant(value / scale, digits)


def p_value(value: float) -> str:
    """A p-value: one that is small is said to be so, as no digit of it means anything."""
    return f"< {_LEAST_P}" if value < _LEAST_P else number(value, 2)


def percent(share: float | None) -> str:
    """A share in per cent, to a tenth: it is not known more precisely."""
    if share is None or math.isnan(share):
        return NOTHING
    return f"{100 * share:.1f}"


def whole(count: float | None) -> str:
    """A whole number with its thousands grouped."""
    return NOTHING if count is None else f"{count:,.0f}"


def in_unit(value: float | None, unit: str, digits: int = USUAL_DIGITS) -> str:
    """A figure of base units in the one in which people read it: ns in us, shares in %."""
    if unit.startswith("%"):
        return percent(value)
    if isinstance(value, int) and unit not in _SCALES:
        return whole(value)
    return number(value, digits, _SCALES.get(unit, 1.0))


def supported_digits(width: float) -> int:
    """How many significant digits of a figure its interval supports; `width` is the wider side of
    that, as a share of the figure (infinite: there is none). The interval then shows in the last
    digit, and by at most ten of its steps in the one before that."""
    if not 0 < width < math.inf:
        return USUAL_DIGITS
    return min(max(math.floor(-math.log10(width)) + 2, _FEWEST_DIGITS), _MOST_DIGITS)


def digits_of(row: Row, most: int = _MOST_DIGITS) -> int:
    """How many significant digits of a row's figure its interval supports, and at most so many."""
    return min(supported_digits(row.verdict.width), most)


def width_of(width: float) -> str:
    """The interval's wider side, as a share of the figure."""
    if not math.isfinite(width):
        return "± ?"
    return f"± {significant(100 * width, 2)} %" if width < 1 else "> 100 %"


def marked(row: Row, value: float, unit: str, most: int = _MOST_DIGITS) -> str:
    """A figure of a row, with the sign of its verdict behind it, and the state that it is of."""
    state = "" if row.state is None else f" {row.state.word}"
    return in_unit(value, unit, digits_of(row, most)) + mark(row) + state


def mark(row: Row) -> str:
    """The sign of a row's verdict, behind its figures."""
    return mark_of(row.verdict.word)


def mark_of(word: Word) -> str:
    """The sign of a verdict."""
    return _MARKS[word]


def worse_mark(*rows: Row) -> str:
    """The sign of the worst verdict of these."""
    return max(map(mark, rows), key=[*_MARKS.values()].index)


def with_interval(estimate: Estimate | None, scale: float) -> str:
    """A figure and its interval: ``0.20 [0.19, 0.21]``."""
    if estimate is None:
        return NOTHING
    digits = _digits(estimate)
    value, low, high = (signed(each / scale, digits) for each in within_reach(estimate))
    return f"{value} [{low}, {high}]"


def factor_alone(value: float) -> str:
    """How many times as much, where there is no interval: two digits."""
    return f"{number(float(f'{value:.1e}'), 2)} (no interval)"


def factor_texts(factor: Estimate) -> tuple[str, str, str]:
    """How many times as much, and the ends of its interval, all with the decimals that this
    supports: it shows in the last one. If all of it is on one side of 1, but its end would be
    written as 1, there is a decimal more."""
    if not math.isfinite(factor.half_width):
        return number(factor.value), NOTHING, NOTHING
    fewest, most = (_places(factor.value, digits) for digits in _DIGITS_OF_FACTORS)
    decimals = min(max(_decimals(factor, 1.0), fewest), most)
    if decimals == 0 < min(factor.half_width, factor.value):
        # Of a large factor, the digits that its interval leaves open are zeros.
        opened = math.floor(math.log10(factor.half_width))
        decimals = min(0, max(-opened, _two_digits(factor.value)))
    if factor.is_apart_from(1.0) and 1.0 in (round(each, decimals) for each in factor[1:]):
        decimals += 1
    value, low, high = (
        signed(each, 1)
        if each in (0, math.inf)
        else _rounded(each, max(decimals, _two_digits(each)) if decimals < 0 < each else decimals)
        for each in within_reach(factor)
    )
    return value, low, high


def within_reach(estimate: Estimate) -> Estimate:
    """The figure with the ends of its interval that say something. Those of two launches that are
    far apart may have fifteen digits: then it is from 0, or to infinity."""
    value, low, high = estimate
    if not (low > 0 and high > FARTHEST * value):
        return estimate
    return Estimate(value, 0.0 if low < value / FARTHEST else low, math.inf)


def in_words(estimate: Estimate, digits: int, scale: float = 1.0, unit: str = "") -> str:
    """A figure and its interval, if there is one, in a sentence: ``25 % (95 %: 20 to 30)``."""
    if math.isnan(estimate.half_width):
        return f"{signed(estimate.value / scale, digits)}{unit} (no interval)"
    value, low, high = (signed(each / scale, digits) for each in within_reach(estimate))
    return f"{value}{unit} (95 %: {low} to {high})"


def _digits(estimate: Estimate) -> int:
    """So many significant digits that the interval is not 0 wide, at most four."""
    width = estimate.high - estimate.low
    largest = max(abs(estimate.value), abs(estimate.low))
    if not width > 0 or not math.isfinite(width) or not largest > 0:
        return USUAL_DIGITS
    return min(max(2, 1 + math.ceil(math.log10(largest / width))), 4)


def signed(value: float, digits: int) -> str:
    """A number that may be below 0; ``any`` of one that has no bound."""
    if math.isinf(value):
        return "any"
    return f"{'-' if value < 0 else ''}{significant(abs(value), digits)}"


def with_sign(estimate: Estimate) -> str:
    """A difference, with its sign, as far as the interval supports it."""
    if math.isnan(estimate.value):
        return NOTHING
    return _rounded(estimate.value, _decimals(estimate), "+")


def bounds(estimate: Estimate) -> str:
    """The interval of a difference."""
    if math.isnan(estimate.half_width):
        return NOTHING
    low, high = (_rounded(each, _decimals(estimate)) for each in (estimate.low, estimate.high))
    return f"{low} to {high}"


def _decimals(estimate: Estimate, two_digits_up_to: float = _TWO_DIGITS_UP_TO) -> int:
    width = estimate.half_width
    if 0 < width < math.inf:
        decimals = -math.floor(math.log10(width / two_digits_up_to))
    else:
        # There is no interval.
        decimals = _places(estimate.value, USUAL_DIGITS)
    return min(max(0, decimals), _MOST_DECIMALS)


def _two_digits(value: float) -> int:
    """The decimals of a value that has two significant digits: below 0 from 100 on."""
    return 1 - math.floor(math.log10(value))


def _places(value: float, digits: int) -> int:
    """How many decimals so many significant digits of a value are."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value)))) if value else 0


def _rounded(value: float, decimals: int, sign: str = "") -> str:
    # Adding 0 makes a 0 of -0.
    rounded = round(value, decimals) + 0.0
    return f"{rounded:{sign if rounded else ''},.{max(0, decimals)}f}"
