"""Counts and how to get them: from matrices, pairs and data frames, split into parts."""
