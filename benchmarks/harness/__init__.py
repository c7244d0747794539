"""What benchmarks share: machine and results, corpora, peers, protocols."""
