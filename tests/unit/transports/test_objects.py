"""Objects that are made of a message's bytes, and those of a device's memory by CuPy, which a small
module stands for."""

import sys
import types

import numpy as np
import pytest

from halftrip.transports.python.endpoint import copy_payload, no_device_arrays, object_of


class DeviceBytes:
    """What CuPy returns: a view of what it was given, which only `get` copies to the host."""

    def __init__(self, seen):
        self.seen = seen

    def get(self):
        return self.seen.copy()

    def __setitem__(self, where, value):
        self.seen[where] = value.seen


class InDevice:
    """A message in a device's memory; the processor does not reach it but by CuPy's view."""

    def __init__(self, content):
        self.content = np.array(content, dtype=np.uint8)


@pytest.fixture
def cupy(monkeypatch):
    def asarray(given):
        if isinstance(given, DeviceBytes):
            return given
        return DeviceBytes(given.content if isinstance(given, InDevice) else given.copy())

    module = types.ModuleType("cupy")
    module.asarray = asarray
    monkeypatch.setitem(sys.modules, "cupy", module)


@pytest.mark.parametrize("kind", ["buffer", "bytes", "array", "dict"])
def test_the_payload_of_an_object_is_kept(kind):
    sent, into = np.arange(9, dtype=np.uint8), np.zeros(9, dtype=np.uint8)
    copy_payload(kind, object_of(kind, sent), into)
    np.testing.assert_array_equal(into, sent)


def test_an_array_of_a_device_is_a_view(cupy):
    message = InDevice([1, 2, 3])
    array = object_of("array", message)
    message.content[0] = 9
    np.testing.assert_array_equal(array.get(), [9, 2, 3])


@pytest.mark.parametrize("from_device", [True, False])
def test_what_arrives_is_copied_to_the_device(cupy, from_device):
    sent = np.array([4, 5, 6], dtype=np.uint8)
    into = InDevice([0, 0, 0])
    copy_payload("array", DeviceBytes(sent) if from_device else sent, into)
    np.testing.assert_array_equal(into.content, sent)
    # And to the host.
    into = np.zeros(3, dtype=np.uint8)
    copy_payload("array", DeviceBytes(sent), into)
    np.testing.assert_array_equal(into, sent)


def test_a_cupy_that_cannot_be_imported_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    said = no_device_arrays()
    assert said.startswith("arrays in a device's memory are CuPy's: ")
