"""The results of a run as frozen values, and the file that holds them."""
