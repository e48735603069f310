"""Messages in a device's memory over a path that takes the host's: by way of page-locked memory of
the host, as a part of what is timed."""

from __future__ import annotations

from typing import Any

from halftrip import _native
from halftrip.memory.allocator import Stage, memory_named
from halftrip.results.configuration import Configuration
from halftrip.results.memory_name import is_of_host

_CACHE_LINE = 64


class Staging:
    """What an end stages messages with: `end` sends them over the native endpoint `path`. An end
    whose own `memory` the processor reaches copies nothing, but sends in the same chunks. Raises
    Unavailable."""

    def __init__(self, path: Any, configuration: Configuration, memory: str) -> None:
        self._stage: Stage | None = None
        chunk = configuration.staging or 0
        largest = min(chunk or configuration.size, configuration.size)
        part = -(-max(largest, 1) // _CACHE_LINE) * _CACHE_LINE
        messages = _native.messages(path)
        if is_of_host(memory):
            self.end = _native.Staged(messages, None, 0, part, chunk)
            return
        self._stage = memory_named(memory).stage(2 * part)
        self.end = _native.Staged(
            messages, self._stage.stream.native, self._stage.region.pointer, part, chunk
        )

    def close(self) -> None:
        """Frees the stage."""
        if self._stage is not None:
            self._stage.close()
            self._stage = None
