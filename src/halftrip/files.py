"""Files that appear as a whole, or not at all: they are written under another name first."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

# Of a name, in that of the file beside it, which is longer.
_LONGEST_NAME = 200


@contextlib.contextmanager
def beside(path: str) -> Iterator[str]:
    """The name of a new file beside another one, which ends in nothing that anybody looks for. It
    is removed at the end, unless it got the name of the other. Raises OSError where it cannot be
    created."""
    folder, name = os.path.split(os.path.realpath(path))
    made = os.path.join(folder, f".{name[:_LONGEST_NAME]}.{os.getpid()}.tmp")
    os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        yield made
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(made)


def replace(made: str, path: str) -> None:
    """Gives a file that is `beside` another one the name of that; a symbolic link stays, and leads
    to it. Raises OSError where that fails."""
    os.replace(made, os.path.realpath(path))


def fill(made: str, content: bytes) -> None:
    """Writes all of a file, to the disk. Raises OSError where that fails."""
    with open(made, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
