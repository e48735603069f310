"""Walks through a plan and times it."""
