"""The documentation site: `make docs` builds it, and it needs nothing from any other host."""

import os
import re
import subprocess
import sys

import pytest

from harness.files import ROOT

PAGES = ("index.html", "docs/method/index.html", "docs/options/index.html", "benchmarks/index.html")
# What a browser fetches to show a page; links that a reader follows are not.
FETCHED = re.compile(r'<(?!a\b)\w+\b[^>]*?\s(?:src|srcset|data|poster|href)="?([^">\s]+)')


@pytest.mark.extended
def test_the_site_has_the_documents_and_fetches_nothing_from_another_host(tmp_path):
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(
        build,
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    for page in PAGES:
        assert (tmp_path / page).is_file(), page
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        fetched = FETCHED.findall(page.read_text())
        assert fetched, page
        assert [each for each in fetched if "//" in each] == [], page
    for style in tmp_path.rglob("*.css"):
        text = style.read_text()
        assert "@import" not in text, style
        assert "url(http" not in text.replace('"', "").replace("'", ""), style
    # Code in an item of a list is code.
    ci = (tmp_path / "docs" / "ci" / "index.html").read_text()
    assert "<pre><code>halftrip run --against baseline.jsonl" in ci
