"""The report of runs: what a page says, and the page in HTML and in Markdown."""
