"""The ways to start ranks: one file per launcher."""
