"""A module that plays nlcpy, and the example of docs/memory.md that uses it. Like nlcpy's, its
arrays have no bytes, and what is written to them happens when the engine is synchronised."""

import re

from harness.files import ROOT

NLCPY = """
import numpy as np


class Engine:
    status = {"main_total_memsize": 1 << 32, "main_mem_used": 1 << 30}

    def __init__(self):
        self.connected = False
        self.requests = []

    def connect(self):
        self.connected = True

    def __enter__(self):
        assert self.connected
        return self

    def __exit__(self, *error):
        pass

    def synchronize(self):
        for request in self.requests:
            request()
        self.requests.clear()


class venode:
    _engines = [Engine(), Engine()]

    @classmethod
    def VE(cls, number):
        return cls._engines[number]


class Array:
    def __init__(self, content):
        if content.dtype.itemsize < 4:
            raise TypeError(f"dtype '{content.dtype}' is not supported.")
        self._content = content

    @property
    def __ve_array_interface__(self):
        return {"data": (self._content.ctypes.data, False), "shape": self._content.shape}

    def __getitem__(self, where):
        return Array(self._content[where])

    def __setitem__(self, where, value):
        values = value._content.copy()
        venode._engines[0].requests.append(lambda: self._content.__setitem__(where, values))

    def get(self):
        return self._content.copy()


def full(shape, value, dtype):
    return Array(np.full(shape, value, dtype=dtype))


def asarray(array):
    return Array(array.copy())
"""


def example():
    """The code of the example."""
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs/memory.md").read_text(), re.MULTILINE | re.DOTALL
    )
    return code
