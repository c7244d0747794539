"""Blocks and row states in files, within a budget of memory."""
