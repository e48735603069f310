"""MPI, found at run time."""
