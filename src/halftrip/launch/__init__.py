"""How ranks come to be: one file per launcher, and what a launcher does while they run."""
