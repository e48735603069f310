"""A threshold: a size from which on messages are handled in another way."""

from __future__ import annotations

from typing import Literal

import msgspec

from halftrip.results.bounds import Count, Name, Number, Positive, Rank, Text
from halftrip.results.configuration import UNTUNED, Extra, Tuning

# What happens to messages that are longer: they go by another protocol; are copied by other
# instructions; go in several pieces, one more at each multiple; do not fit into what holds them on
# their way, so that the sender waits for the receiver; their buffers do not fit into a cache; or
# take more than one page.
Acts = Literal["protocol", "copy", "pieces", "capacity", "cache", "page"]


class Threshold(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="record",
    tag="threshold",
):
    """A threshold as `rank` has found it in a launch: `value` is bytes (0: the library chooses it,
    and does not tell), `source` where it was read, and `setting` what moves it: an environment
    variable by its name, an option of ``halftrip run`` that begins with ``--``, or words; empty:
    nothing is known to. The setting's value is `scale` times that of the threshold.

    Up to `header` bytes of the value hold no payload. It is one of the `transport` alone, in
    configurations with this `tuning` and these `extra` settings, between ranks of the `same_host`
    or of different ones (None: both); with an empty transport it is one of the machine, for all.
    `cores` are those that share a cache.
    """

    rank: Rank = 0
    name: Text
    value: Count
    acts: Acts
    source: Text
    setting: Text = ""
    scale: Positive = 1.0
    header: Count = 0
    transport: Name = ""
    same_host: bool | None = None
    tuning: Tuning = UNTUNED
    extra: Extra = ()
    cores: list[Number] = []
    launch: Number = 0
