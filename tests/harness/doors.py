"""Whom the listeners of tests wait for."""

from halftrip.control.greeting import Guest, introduce

TOKEN = "right"
GUEST = Guest("control", 1)
HELLO = introduce("control", 1)
