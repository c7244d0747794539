"""Maps of corpora: the workflow from counts to places, and what it leaves behind."""
