"""UCX, found at run time: which are installed, and what they can do."""
