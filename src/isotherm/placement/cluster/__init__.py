"""Blocks and row states on the workers of a Dask cluster."""
