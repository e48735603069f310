"""Transports whose timed loops are native."""
