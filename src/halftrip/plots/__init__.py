"""Pictures of runs: each kind is a pure function from runs to charts."""
