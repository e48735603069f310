"""Files of the kernel's, as they are: some are not there, some cannot be read, some are odd."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

# The kernel counts in 64 bits or fewer, with so many digits at most; what has fewer digits fits.
_LARGEST = 2**64 - 1
_DIGITS = 20


class Reader:
    """Reads files below `root`. What is odd is left out and said once, in `take_warnings`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._prefix = str(root).rstrip("/")
        self._known: set[str] = set()
        self._new: list[str] = []

    def text(self, path: str) -> str | None:
        """What a file holds; None where there is none, or it cannot be read, which is a warning."""
        try:
            with open(self._prefix + path, "rb", buffering=0) as file:
                return file.read().decode("latin-1")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.warn(path, (error.strerror or str(error)).lower())
            return None

    def number(self, path: str) -> int | None:
        """The whole number that a file holds; None where there is none, or none that may be read:
        a counter that only some may read is a counter less."""
        try:
            with open(self._prefix + path, "rb", buffering=0) as file:
                text = file.read().decode("latin-1").strip()
        except OSError:
            return None
        # As the kernel says that it does not know.
        return None if text == "-1" else self.count(path, "", text)

    def names(self, path: str) -> list[str]:
        """What is in a directory, in order; nothing where there is none, or it cannot be read,
        which is a warning."""
        try:
            return sorted(os.listdir(self._prefix + path))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.warn(path, (error.strerror or str(error)).lower())
            return []

    def counts(
        self, path: str, what: str, names: Sequence[str], texts: Sequence[str]
    ) -> dict[str, int]:
        """The whole numbers that stand for `names` in a part of a file that is called `what`, by
        name; without those that are none, of each of which there is a warning."""
        if all(text.isdecimal() and len(text) < _DIGITS for text in texts):
            return dict(zip(names, map(int, texts), strict=False))
        read = {
            name: self.count(path, f"{what} {name}".strip(), text)
            for name, text in zip(names, texts, strict=False)
        }
        return {name: value for name, value in read.items() if value is not None}

    def count(self, path: str, what: str, text: str) -> int | None:
        """The whole number that `text`, which stands for `what` in a file, should be; else None,
        with a warning."""
        if text.isdecimal() and len(text) <= _DIGITS and int(text) <= _LARGEST:
            return int(text)
        said = f"{what} is {text[:40]!r}" if what else f"{text[:40]!r}"
        self.warn(path, f"{said}, which is no number of the kernel's; left out", what)
        return None

    def warn(self, path: str, why: str, what: str = "") -> None:
        """Says once what is odd about `what` in a file."""
        if f"{path} {what}" not in self._known:
            self._known.add(f"{path} {what}")
            self._new.append(f"{path}: {why}")

    def take_warnings(self) -> list[str]:
        """What has been odd since this was last called, and never before."""
        new, self._new = self._new, []
        return new
