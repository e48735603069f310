"""How the processes of a run coordinate: never inside a timed region."""
