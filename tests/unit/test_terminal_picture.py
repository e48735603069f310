"""The picture of a terminal in the README."""

import re
from xml.etree import ElementTree

import pytest

from harness.files import ROOT, module

NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.fixture
def pictures():
    made = module("scripts/terminal_picture.py")
    run = ROOT / "tests" / "golden" / "formats" / "1.jsonl"
    return made.picture(str(run)), (ROOT / "docs" / "terminal.svg").read_text()


def test_a_picture_refers_to_nothing_outside_itself(pictures):
    for picture in pictures:
        assert set(re.findall(r"\w+://[^\s\"')]*", picture)) == {NAMESPACE}
        assert "@font-face" not in picture
        assert all(url.startswith("#") for url in re.findall(r"url\(([^)]*)\)", picture))
        assert ElementTree.fromstring(picture).tag == f"{{{NAMESPACE}}}svg"


def test_the_picture_has_the_words_of_the_screen(pictures):
    for picture in pictures:
        words = picture.replace("&#160;", " ")
        for word in ("$ halftrip run", "Trust:", "More:"):
            assert word in words
    assert "peak bandwidth" in pictures[1].replace("&#160;", " ")
