"""Libraries that are found at run time, by name, and not before they are needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Generic, TypeVar

from halftrip.errors import Unavailable

_T = TypeVar("_T")


def load(file: str, name: str) -> ctypes.CDLL:
    """The library in a file that the dynamic linker finds; `name` is what messages call it. Raises
    Unavailable."""
    try:
        return ctypes.CDLL(file)
    except OSError as error:
        # Else the linker names what the library itself lacks.
        is_missing = str(error).startswith(f"{file}: cannot open")
        said = f"there is no {file}" if is_missing else str(error)
        raise Unavailable(f"no {name}: {said}") from None


class Once(Generic[_T]):
    """What `make` returns, made when it is first asked for; or why there is none."""

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._made: _T | None = None
        self._reason: Unavailable | None = None

    def get(self) -> _T:
        """Raises Unavailable, with the same reason at every call."""
        if self._reason is not None:
            raise self._reason
        if self._made is None:
            try:
                self._made = self._make()
            except Unavailable as error:
                self._reason = error
                raise
        return self._made

    def missing(self) -> str | None:
        """Why there is none, or None."""
        try:
            self.get()
        except Unavailable as error:
            return str(error)
        return None
