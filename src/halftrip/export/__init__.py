"""Formats of other programs, one module each: a run as files that these read.

Each has a function ``files`` of a document, which returns the content of each file, text or bytes,
by what follows the base name in its name; the file that people look for comes first. It raises
UsageError where the run lacks what the format needs, and HalftripError where a library is missing.
"""
