"""The documentation site: `make docs` builds it, and it needs nothing from any other host."""

import re
import subprocess
import sys

import pytest

from halftrip import __version__
from harness.files import ROOT

PAGES = ("README.html", "docs/method.html", "docs/options.html", "benchmarks/README.html")
# What a browser fetches to show a page; links that a reader follows are not.
FETCHED = re.compile(r'<(?!a\b)\w+\b[^>]*?\s(?:src|srcset|data|poster|href)="?([^">\s]+)')


@pytest.mark.extended
def test_the_site_has_the_documents_and_fetches_nothing_from_another_host(tmp_path):
    # An older version is there already.
    (tmp_path / "0.9").mkdir()
    build = [sys.executable, "scripts/site.py", str(tmp_path)]
    built = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    version = ".".join(__version__.split(".")[:2])
    first = (tmp_path / "index.html").read_text()
    assert f"url={version}/README.html" in first
    assert re.findall(r">(\d+\.\d+)</a>", first) == [version, "0.9"]
    site = tmp_path / version
    for page in PAGES:
        assert (site / page).is_file(), page
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        fetched = FETCHED.findall(page.read_text())
        assert fetched, page
        assert [each for each in fetched if "//" in each] == [], page
    for style in site.rglob("*.css"):
        text = style.read_text()
        assert "@import" not in text, style
        assert "url(http" not in text.replace('"', "").replace("'", ""), style
    # Search works where the site is read from a disk: nothing is fetched but scripts.
    assert "Search.setIndex(" in (site / "searchindex.js").read_text()
    # Code in an item of a list is code.
    ci = (site / "docs" / "ci.html").read_text()
    assert "<pre><span></span>halftrip run --against baseline.jsonl" in ci
