"""Models: pure functions from parameters and a block of rows to sums. One file each."""
