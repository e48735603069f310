"""The formats of other tools, one file for each."""
