"""Graphs over the rows of counts: nearest neighbors, and edges within labels."""
