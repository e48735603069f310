"""Files of the kernel's, as they are: some are not there, some cannot be read, some are odd."""

from __future__ import annotations

from pathlib import Path


class Reader:
    """Reads files below `root`. What is odd is left out and said once, in `take_warnings`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._known: set[str] = set()
        self._new: list[str] = []

    def text(self, path: str) -> str | None:
        """What a file holds; None where there is none, or it cannot be read, which is a warning."""
        try:
            with open(self.root / path.lstrip("/"), encoding="utf-8", errors="replace") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self.warn(path, (error.strerror or str(error)).lower())
            return None

    def number(self, path: str) -> int | None:
        """The whole number that a file holds; None where there is none, or none that may be read:
        a counter that only some may read is a counter less."""
        try:
            text = (self.root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return self.count(path, "", text.strip())

    def count(self, path: str, what: str, text: str) -> int | None:
        """The whole number that `text`, which stands for `what` in a file, should be; else None,
        with a warning."""
        if text.isdecimal() and text.isascii():
            return int(text)
        said = f"{what} is {text[:40]!r}" if what else f"{text[:40]!r}"
        self.warn(path, f"{said}, which is no number; left out", what)
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
