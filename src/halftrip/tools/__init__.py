"""Other tools, one module each: reads what the tool has printed, and prints a run as it would have.

A reader is a ``tables.Format`` (`registry.IMPORTERS`), a printer a function of a document, which
returns text (`registry.STYLES`). Both share the names of columns and the layout of rows. Not every
tool has both.
"""
