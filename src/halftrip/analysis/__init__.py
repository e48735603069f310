"""What the measurements of a run come to: pure functions of a run."""
