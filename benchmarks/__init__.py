"""Benchmarks, each a module of one of the folders; `run.py` runs them, `registry` lists them."""
