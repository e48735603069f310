"""How bytes move: one file per transport, which itself says whether it can be used here."""
