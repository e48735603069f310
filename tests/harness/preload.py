"""A library that programs load before all others."""

import os


def preloading(library):
    """The environment variables for that. Blanks separate names in LD_PRELOAD, as they may occur in
    paths, but not in LD_LIBRARY_PATH."""
    directory, name = os.path.split(library)
    return {"LD_PRELOAD": name, "LD_LIBRARY_PATH": directory}
