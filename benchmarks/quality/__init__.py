"""What models predict and find, and how surely, next to other programs."""
