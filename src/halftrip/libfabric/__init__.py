"""libfabric, found at run time: which are installed, and what they offer."""
