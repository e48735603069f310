"""How ranks come to be: one file per launcher."""
