"""Runs as older tools would have printed them, one file for each tool."""
