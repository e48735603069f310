"""The presets: keys of a plan that hold unless a file, an option or a key says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PRESETS: dict[str, Mapping[str, Any]] = {
    # Answers within ten seconds: sizes four times apart, a wide interval.
    "quick": {"sizes": "1..4M*4", "ci": "5%", "time": "50ms", "max_duration": "10s"},
    # What a plan has by itself, but within a minute.
    "standard": {"max_duration": "60s"},
    # For publication: launches of fresh processes are a factor of their own, and so is the cache.
    "paper": {
        "launches": 10,
        "ci": "1%",
        "time": "0.5s",
        "cache": "hot,cold",
        "system_log": True,
    },
}
