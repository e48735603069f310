"""A plan as a text in TOML, for another installation of halftrip."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from halftrip.plan.plan import Plan, plan_record

# Without these, what else a plan has would change what they are.
_ALWAYS = ("transport", "sizes", "pairs")


def plan_text(plan: Plan) -> str:
    """The keys in which it differs from a plan that says nothing: an older halftrip does not know
    all of them."""
    usual = plan_record(Plan())
    keys = {
        name: value
        for name, value in plan_record(plan).items()
        if name in _ALWAYS or value != usual.get(name)
    }
    return "".join(f"{name} = {_value(value)}\n" for name, value in keys.items())


def _value(value: Any) -> str:
    """A value of JSON in TOML."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_text(name)} = {_value(each)}" for name, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return _text(value)
    return json.dumps(value)


def _text(text: str) -> str:
    # A string of JSON is one of TOML, where a DEL has to be escaped, too.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
