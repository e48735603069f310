"""Measures a plan, with all ranks."""
