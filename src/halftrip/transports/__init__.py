"""How bytes move: one file per transport, each says by itself whether it can be used here."""
