"""Fused loops over the non-zeros of a block: a plain reference and a fast implementation."""
