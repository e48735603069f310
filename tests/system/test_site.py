"""The documentation site: `make docs` builds it, and it needs nothing from any other host."""

import os
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from harness.files import ROOT

PAGES = ("index.html", "docs/method/index.html", "docs/options/index.html", "benchmarks/index.html")


class Fetched(HTMLParser):
    """What a browser fetches to show a page; links that a reader follows are not."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        names = ("src", "srcset", "data", "poster", *(() if tag == "a" else ("href",)))
        self.found += [value for name, value in attrs if name in names and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(directory)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        build,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    return directory


def test_the_site_has_the_documents_at_their_paths(site):
    for page in PAGES:
        assert (site / page).is_file(), page


def test_no_page_fetches_anything_from_another_host(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        fetched = Fetched(page.read_text()).found
        assert fetched, page
        assert [each for each in fetched if "//" in each] == [], page
    for style in site.rglob("*.css"):
        text = style.read_text()
        assert "@import" not in text, style
        assert "url(http" not in text.replace('"', "").replace("'", ""), style


def test_code_in_an_item_of_a_list_is_code(site):
    text = (site / "docs" / "flags" / "index.html").read_text()
    assert "<pre><code>$ halftrip run coarse.toml" in text
