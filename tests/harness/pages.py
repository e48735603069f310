"""Pages of runs, and a browser that opens them."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

from halftrip.page import html
from halftrip.page.sections import ReportedRun, report
from halftrip.plots.chart import Subject
from halftrip.render import markdown
from halftrip.report.document import document
from harness.need import need

CHROMIUM = "chromium"
# To draw all pictures of a page on a busy machine.
_DRAWN_MS = 60_000
# A mark that a picture has drawn.
MARKS = ".picture svg [class*='mark-'] > path, .picture svg [class*='mark-'] > text"


def report_of(*runs, whole=True):
    """The report of runs, which are called a, b, and so on."""
    names = [chr(97 + number) for number in range(len(runs))]
    shown = [
        ReportedRun(Subject(name, document(run)), f"{name}.jsonl", whole)
        for name, run in zip(names, runs, strict=True)
    ]
    return report(shown, ", ".join(names))


def page_of(*runs):
    """Their page."""
    return html.page(report_of(*runs))


def markdown_of(*runs):
    return markdown.page(report_of(*runs))


def section(made, name):
    """The section of this name, as Markdown; empty where there is none."""
    found = [each for each in made.sections if each.name == name]
    return markdown.page(made._replace(title="", line="", sections=found)) if found else ""


def elements(page, name):
    """The attributes and the content of all elements of this name, as texts."""
    return re.findall(rf"<{name}((?: [^>]*)?)>(.*?)</{name}>", page, re.DOTALL)


class Seen:
    """A page in a browser, and what went wrong in it or left it."""

    def __init__(self, page, path: Path) -> None:
        self.page = page
        self.wrong = []
        self.requests = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())
        self.drawn()

    def _heard(self, message):
        if message.type == "error":
            self.wrong.append(message.text)

    def drawn(self):
        """Waits until all pictures are there."""
        self.page.wait_for_selector("body[data-drawn=yes]", timeout=_DRAWN_MS)

    def marks(self):
        """How many marks each picture has."""
        return self.page.evaluate(
            """marks => [...document.querySelectorAll(".picture")].map(
                picture => [...document.querySelectorAll(marks)].filter(
                    mark => picture.contains(mark)).length)""",
            MARKS,
        )

    def until(self, happened):
        """Waits until something has happened on the page."""
        end = time.monotonic() + _DRAWN_MS / 1e3
        while not happened():
            assert time.monotonic() < end
            self.page.wait_for_timeout(50)

    def overflow(self):
        """By how many pixels the page is wider than its window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def colour(self):
        """The colour behind the page, as the browser says it."""
        return self.page.evaluate("getComputedStyle(document.body).backgroundColor")


@contextmanager
def browser():
    """A browser without a window."""
    need(shutil.which(CHROMIUM) is not None, "Chromium draws pages")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=shutil.which(CHROMIUM), args=["--no-sandbox"]
        )
        try:
            yield opened
        finally:
            opened.close()
