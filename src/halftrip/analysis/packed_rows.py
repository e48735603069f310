"""Rows as bytes, between a process and its fork: what both have of the run has a reference."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Generic, Protocol, Self, TypeVar

from halftrip.analysis.like_states import MeasuredRow
from halftrip.analysis.one_way import OneWay
from halftrip.analysis.states import RunStates
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run

# What a reference is to, the place of its configuration in the run, and, of a slice, its number
# among those of that configuration.
_Reference = tuple[str, int, int]


class JudgedRow(Protocol):
    """What of a row refers to the run: see `rows.Row`."""

    @property
    def configuration(self) -> Configuration: ...

    @property
    def measured(self) -> MeasuredRow: ...

    @property
    def one_way(self) -> OneWay | None: ...

    @property
    def others(self) -> Sequence[Self]: ...


_Row = TypeVar("_Row", bound=JudgedRow)


class RowPacker(Generic[_Row]):
    """Packs rows in a fork, and unpacks them where the run was loaded. `states` are those of the
    run."""

    def __init__(self, run: Run, states: RunStates) -> None:
        self._rows = [*run.by_configuration.items()]
        self._states = states

    def packed(self, rows: Sequence[tuple[int, _Row]]) -> bytes:
        """These rows, each with the place of its configuration in the run."""
        references: dict[int, _Reference] = {}
        for place, row in rows:
            references[id(row.configuration)] = ("configuration", place, 0)
            references[id(row.measured)] = ("row", place, 0)
            for each in (row, *row.others):
                # The only part of a row that has measurements.
                if each.one_way is not None:
                    own = enumerate(row.measured.measurements)
                    references |= {id(slice_): ("slice", place, n) for n, slice_ in own}
        file = io.BytesIO()
        _Pickler(file, references).dump(rows)
        return file.getvalue()

    def unpacked(self, data: bytes) -> list[tuple[int, _Row]]:
        """The rows that `packed` was given."""
        found: list[tuple[int, _Row]] = _Unpickler(data, self._referred).load()
        return found

    def _referred(self, reference: _Reference) -> Any:
        kind, place, number = reference
        configuration, measurements = self._rows[place]
        if kind == "configuration":
            return configuration
        if kind == "slice":
            return measurements[number]
        return MeasuredRow(configuration, measurements, self._states.of(configuration), True)


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, references: Mapping[int, _Reference]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._references = references

    def persistent_id(self, value: Any) -> _Reference | None:
        return self._references.get(id(value))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, referred: Callable[[_Reference], Any]) -> None:
        super().__init__(io.BytesIO(data))
        # As the row and its other states have one row that was measured.
        self._referred = cache(referred)

    def persistent_load(self, reference: _Reference) -> Any:
        return self._referred(reference)
