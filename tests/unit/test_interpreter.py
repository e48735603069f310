"""What installs what a Python lacks."""

import importlib.metadata
import json

import pytest

from halftrip.interpreter import install_command


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'halftrip[zmq]'"),
        ("no json", "pip install 'halftrip[zmq]'"),
        ({"url": "https://example.org/halftrip.whl"}, "pip install 'halftrip[zmq]'"),
        ({"url": "file:///opt/half%20trip", "dir_info": {}}, "pip install '/opt/half trip[zmq]'"),
        (
            {"url": "file:///opt/halftrip", "dir_info": {"editable": True}},
            "pip install --editable '/opt/halftrip[zmq]'",
        ),
    ],
)
def test_an_extra_is_installed_from_where_halftrip_was(monkeypatch, origin, command):
    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return json.dumps(origin) if isinstance(origin, dict) else origin

    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: Installed())
    assert install_command("zmq") == command
