"""Transports whose calls are Python."""
