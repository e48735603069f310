"""A run file, read while it is being written."""

from __future__ import annotations

import os
from pathlib import Path

from halftrip.results.reading import Content, decode, read
from halftrip.results.records import RunEnd
from halftrip.results.run import Run
from halftrip.results.run_file import assemble


class FollowedRun:
    """The run in a file that this process is writing, in whole lines: each is read once. The file
    may have lines of earlier launches, if the run goes on."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._content: Content | None = None
        self._read_bytes = 0

    def read(self) -> None:
        """Reads the lines that are new. Raises UsageError or OSError if the file cannot be read."""
        with self._path.open("rb") as file:
            if self._content is None:
                self._content = read(file, str(self._path))
            else:
                file.seek(self._read_bytes)
                self._content.found.extend(map(decode, file))
            self._read_bytes = file.tell()

    def run(self) -> Run:
        """The run as far as it has been read, without an end: it goes on."""
        assert self._content is not None
        header, found, problems = self._content
        return assemble(header, (each for each in found if not isinstance(each, RunEnd)), problems)
