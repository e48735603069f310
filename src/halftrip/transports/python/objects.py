"""The objects that a Python program sends, made of a message's bytes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from halftrip.results.configuration import Object

# What has arrays in a device's memory that can be pickled.
_DEVICE_ARRAYS = "cupy"


def no_device_arrays() -> str | None:
    """Why there are no arrays in a device's memory here, or None."""
    try:
        importlib.import_module(_DEVICE_ARRAYS)
    except ImportError as error:
        return f"arrays in a device's memory are CuPy's: {error}"
    return None


def made(kind: Object, message: Any) -> Any:
    """An object whose payload is `message`, shape (bytes,): the buffer itself, its bytes, an array
    of them, or a dictionary that has them beside a number and a text. Only the buffer and the array
    change with the message. Of a message in a device's memory, the array is CuPy's, over the same
    bytes."""
    if not isinstance(message, np.ndarray):
        return importlib.import_module(_DEVICE_ARRAYS).asarray(message)
    if kind == "bytes":
        return message.tobytes()
    if kind == "dict":
        return {"number": 1, "name": "halftrip", "payload": message.tobytes()}
    return message


def keep(kind: Object, received: Any, into: Any) -> None:
    """Copies the payload of an object that has been received."""
    payload = received["payload"] if kind == "dict" else received
    if not isinstance(into, np.ndarray):
        # Only an array of its own is CuPy certain to copy from.
        made(kind, into)[...] = importlib.import_module(_DEVICE_ARRAYS).asarray(payload)
        return
    if hasattr(payload, "get"):
        # From a peer's device: CuPy does not copy to the host by itself.
        payload = payload.get()
    into[:] = np.frombuffer(payload, dtype=np.uint8)
