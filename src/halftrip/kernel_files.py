"""Reads files of the kernel, below /proc and /sys: some are missing, unreadable or malformed."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from pathlib import Path

from halftrip.errors import system_reason

# The kernel counts in 64 bits or fewer: in this many digits at most. Every number with fewer digits
# fits.
_LARGEST = 2**64 - 1
_DIGITS = 20
# A file that is kept open is short: it is read as far as this, unless it is said how far.
_LONGEST = 4096


class Reader:
    """Reads files below `root`. Malformed parts are left out, and reported once by
    `take_warnings`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._prefix = str(root).rstrip("/")
        self._known: set[str] = set()
        self._new: list[str] = []

    def text(self, path: str) -> str | None:
        """The content of a file; None if it is missing or, with a warning, cannot be read."""
        try:
            with open(self._prefix + path, "rb", buffering=0) as file:
                return file.read().decode("latin-1")
        # ValueError: a path that was read from another file may have a null character in it.
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        except OSError as error:
            self.warn(path, system_reason(error).lower())
            return None

    def kept(self, path: str, longest: int = _LONGEST) -> KeptFile:
        """A file that is read often, as far as so many bytes."""
        return KeptFile(self, path, longest)

    def open(self, path: str) -> int:
        """A descriptor for reading. Raises OSError."""
        return os.open(self._prefix + path, os.O_RDONLY | os.O_CLOEXEC)

    def line(self, path: str) -> str | None:
        """The first line of a file, without blanks around it; None as in `text`."""
        text = self.text(path)
        return None if text is None else text.partition("\n")[0].strip()

    def number(self, path: str) -> int | None:
        """The whole number in a file; None if it is missing, malformed, or cannot be read. The last
        is no reason for a warning: some counters are for root alone."""
        try:
            with open(self._prefix + path, "rb", buffering=0) as file:
                text = file.read().decode("latin-1").strip()
        except (OSError, ValueError):
            return None
        # The kernel writes -1 for an unknown number.
        return None if text == "-1" else self.count(path, "", text)

    def names(self, path: str) -> list[str]:
        """The names in a directory, sorted; none if it is missing or, with a warning, cannot be
        read."""
        try:
            return sorted(os.listdir(self._prefix + path))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return []
        except OSError as error:
            self.warn(path, system_reason(error).lower())
            return []

    def counts(
        self, path: str, what: str, names: Sequence[str], texts: Sequence[str]
    ) -> dict[str, int]:
        """The whole numbers `texts` by `names`, from the part `what` of a file. Malformed ones
        are left out, with a warning each."""
        together = "".join(texts)
        if together.isdecimal() and "" not in texts and max(map(len, texts)) < _DIGITS:
            return dict(zip(names, map(int, texts), strict=False))
        read = {
            name: self.count(path, f"{what} {name}".strip(), text)
            for name, text in zip(names, texts, strict=False)
        }
        return {name: value for name, value in read.items() if value is not None}

    def count(self, path: str, what: str, text: str) -> int | None:
        """The whole number `text`, which is `what` in a file; None, with a warning, if it is
        malformed."""
        if text.isdecimal() and len(text) <= _DIGITS and int(text) <= _LARGEST:
            return int(text)
        found = f"{what} is {text[:40]!r}" if what else f"{text[:40]!r}"
        self.warn(path, f"{found}, which is not a count of 64 bits; left out", what)
        return None

    def warn(self, path: str, why: str, what: str = "") -> None:
        """Reports the reason why `what` in a file is left out, once."""
        if f"{path} {what}" not in self._known:
            self._known.add(f"{path} {what}")
            self._new.append(f"{path}: {why}")

    def take_warnings(self) -> list[str]:
        """The warnings since this was last called."""
        new, self._new = self._new, []
        return new


class KeptFile:
    """A file that stays open between two readings: to open it takes longer than to read it. One
    below /proc/thread-self is that of the thread that reads it first. One that is not there does
    not come later."""

    def __init__(self, reader: Reader, path: str, longest: int) -> None:
        self._reader = reader
        self._path = path
        self._longest = longest
        self._descriptor: int | None = None
        self._is_missing = False

    def text(self, upto: str = "") -> str | None:
        """Its content, as `Reader.text`: what one reading gives, which of a file of many records is
        a page, or, with `upto`, as far as the whole line that begins so, behind the first line."""
        if self._is_missing:
            return None
        try:
            if self._descriptor is None:
                self._descriptor = self._reader.open(self._path)
                # Also where the interpreter ends first.
                weakref.finalize(self, os.close, self._descriptor)
            text = os.pread(self._descriptor, self._longest, 0).decode("latin-1")
            while upto and len(text) < self._longest and not _has_line(text, upto):
                more = os.pread(self._descriptor, self._longest - len(text), len(text))
                if not more:
                    break
                text += more.decode("latin-1")
            return text
        except FileNotFoundError:
            self._is_missing = True
            return None
        except OSError:
            # With a warning where that is due.
            return self._reader.text(self._path)


def _has_line(text: str, begins: str) -> bool:
    _, found, rest = text.partition(f"\n{begins}")
    return bool(found) and "\n" in rest


# The files of this host.
HOST_FILES = Reader()
