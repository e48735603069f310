"""The objects that a Python program sends, made of a message's bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from halftrip.memory.allocator import Bytes
from halftrip.results.configuration import Object


def made(kind: Object, message: Bytes) -> Any:
    """An object whose payload is `message`, shape (bytes,): the buffer itself, its bytes, an array
    of them, or a dictionary that has them beside a number and a text. Only the buffer and the array
    change with the message."""
    if kind == "bytes":
        return message.tobytes()
    if kind == "dict":
        return {"number": 1, "name": "halftrip", "payload": message.tobytes()}
    return message


def keep(kind: Object, received: Any, into: Bytes) -> None:
    """Copies the payload of an object that has been received."""
    payload = received["payload"] if kind == "dict" else received
    into[:] = np.frombuffer(payload, dtype=np.uint8)
