"""The page docs/benchmarks.md, and sentences of the guides, from results. Nothing measures."""
