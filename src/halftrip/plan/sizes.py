"""Size schedules: ``1..4M`` doubles, ``1..4M*4`` multiplies, ``0..4000+4`` steps, commas join."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.errors import UsageError
from halftrip.units import parse_size

DEFAULT_SIZES = "1..4M"
_GRAMMAR = "write a size (8, 64K, 2MB), a range (1..4M, 1..4M*4, 0..4000+4) or a list of these"
# A longer schedule is a mistake.
MOST_SIZES = 100_000


def parse_sizes(text: str) -> tuple[int, ...]:
    """The sizes in bytes of a schedule, ascending, each once.

    Raises UsageError, which names the part that is wrong.
    """
    sizes: set[int] = set()
    left = MOST_SIZES
    for part in text.split(","):
        of_part = _parse_part(part.strip())
        # Counted before they are put together: the same thousand ranges would take minutes.
        left -= len(of_part)
        if left < 0:
            raise UsageError(f"{text!r} has more than {MOST_SIZES} sizes")
        sizes.update(of_part)
    return tuple(sorted(sizes))


def perturb(sizes: Sequence[int], by: int) -> tuple[int, ...]:
    """`sizes` and the sizes `by` bytes below and above each, ascending, each once.

    NetPIPE's perturbation: sizes that are no power of two meet other alignments and buffers. No
    size below one byte is added; a requested 0 stays.
    """
    requested = set(sizes)
    beside = {size + offset for size in requested for offset in (-by, by)}
    return tuple(sorted(requested | {size for size in beside if size >= 1}))


def _parse_part(part: str) -> list[int]:
    if not part:
        raise UsageError(f"a size is empty; {_GRAMMAR}")
    # Other benchmarks write 1:1024.
    first, dots, rest = part.replace(":", "..", 1).partition("..")
    if not dots:
        return [parse_size(part)]
    sign = "+" if "+" in rest else "*"
    last, _, step = rest.partition(sign)
    if not first or not last:
        raise UsageError(f"{part!r} is not a range of sizes; {_GRAMMAR}")
    ends = parse_size(first), parse_size(last)
    if ends[1] < ends[0]:
        raise UsageError(f"{part!r} ends before it begins; {_GRAMMAR}")
    progression = _steps if sign == "+" else _multiples
    sizes = progression(*ends, step if sign in rest else "2", part)
    if len(sizes) > MOST_SIZES:
        raise UsageError(f"{part!r} has more than {MOST_SIZES} sizes")
    return sizes


def _steps(first: int, last: int, step: str, part: str) -> list[int]:
    size = parse_size(step)
    if size < 1:
        raise UsageError(f"{part!r}: a step must be at least 1")
    return list(range(first, last + 1, size)[: MOST_SIZES + 1])


def _multiples(first: int, last: int, step: str, part: str) -> list[int]:
    try:
        factor = float(step)
    except ValueError:
        raise UsageError(f"{part!r}: {step!r} is not a factor; {_GRAMMAR}") from None
    if not factor > 1:
        raise UsageError(f"{part!r}: a factor must be greater than 1")
    if first < 1:
        raise UsageError(f"{part!r}: 0 cannot be multiplied; write 0,1..{part.partition('..')[2]}")
    sizes: list[int] = []
    size = float(first)
    while size <= last and len(sizes) <= MOST_SIZES:
        sizes.append(round(size))
        size *= factor
    return sizes
