"""The relay itself: what needs no devices."""
