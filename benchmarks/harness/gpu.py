"""A large corpus drawn on the device, and what the device can do at best."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from isotherm.kernels.torch import triton_sums
from isotherm.kernels.torch.pattern import Pattern

# Topics of each document, and how far a word's share of a topic is from its share of the corpus.
OWN, SPREAD = 2, 2.5
# Words so frequent that every topic uses them alike.
COMMON = 100
ROWS_AT_ONCE = 30_000


def seconds(call: Callable[[], Any], rounds: int = 9) -> float:
    """Median time of a call, the device's work included, after one call that compiles."""
    call()
    took = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def corpus(rows: int, columns: int, nnz: int, topics: int, device: str, seed: int = 0) -> Any:
    """Counts (rows, columns) with about nnz non-zeros: topics over words by Zipf's law, shuffled.

    Documents are of uneven length and mix two topics each.
    """
    g = torch.Generator(device=device).manual_seed(seed)
    kind: dict[str, Any] = {"device": device, "dtype": torch.float64}
    base = 1.0 / torch.arange(1, columns + 1, **kind)
    base /= base.sum()
    lengths = torch.exp(0.5 * torch.randn(rows, generator=g, **kind) - 0.125)
    words = base * torch.exp(SPREAD * torch.randn((topics, columns), generator=g, **kind))
    head = words[:, :COMMON].sum(dim=1, keepdim=True)
    words[:, :COMMON] = base[:COMMON] * head / base[:COMMON].sum()
    words /= words.sum(dim=1, keepdim=True)
    mean = _mean_length(lengths, words, rows, nnz)
    ladder = torch.cumsum(words, dim=1)
    ladder = (ladder / ladder[:, -1:]).clamp_(max=1 - 1e-12)
    ladder = (ladder + torch.arange(topics, **kind)[:, None]).reshape(-1)
    tokens = (lengths * mean).round().long().clamp_(min=1)
    shuffled = torch.randperm(columns, generator=g, device=device)
    parts = []
    for first in range(0, rows, ROWS_AT_ONCE):
        n = tokens[first : first + ROWS_AT_ONCE]
        row = torch.repeat_interleave(torch.arange(len(n), device=device), n)
        own = torch.randint(topics, (len(n), OWN), generator=g, device=device)
        topic = own[row, torch.randint(OWN, row.shape, generator=g, device=device)]
        drawn = torch.rand(row.shape, generator=g, **kind) + topic.double()
        word = (torch.searchsorted(ladder, drawn) - topic * columns).clamp_(0, columns - 1)
        key, count = torch.unique(row * columns + shuffled[word], return_counts=True)
        sizes = torch.bincount(key // columns, minlength=len(n))
        parts.append([x.cpu().numpy() for x in ((key % columns).int(), count.float(), sizes)])
    indices, values, sizes = (np.concatenate(x) for x in zip(*parts, strict=True))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    return sparse.csr_array((values, indices, indptr), shape=(rows, columns))


def _mean_length(lengths: Any, words: Any, rows: int, nnz: int) -> float:
    """Mean number of tokens with which documents have so many non-zeros in all."""
    at = torch.quantile(lengths[:100_000], torch.linspace(0.01, 0.99, 25).to(lengths))
    some = words[:64].reshape(-1, OWN, words.shape[1]).mean(dim=1)
    low, high = 10.0, 50_000.0
    for _ in range(30):
        mean = math.sqrt(low * high)
        expected = [-torch.expm1(-mean * x * some).sum(dim=1).mean().item() for x in at]
        low, high = (mean, high) if statistics.mean(expected) * rows < nnz else (low, mean)
    return mean


def ceilings(K: int, nnz: int, device: str) -> dict[str, float]:
    """Measured rates: TB/s of a copy and of gathers from the cache, TFLOP/s of products."""
    whole = torch.rand((2, 1 << 29), device=device)
    copy = whole.numel() * 4 / seconds(lambda: whole[0].copy_(whole[1]))
    whole.resize_(0)
    table = torch.rand((24 << 20) // (4 * K), K, device=device)
    index = torch.randint(len(table), (nnz,), device=device, dtype=torch.int32)
    indptr = torch.arange(0, nnz + 1, 256, device=device)
    pattern, ones = Pattern(indptr, index[: int(indptr[-1])], len(table)), torch.ones(nnz).to(table)
    segments, kind = pattern.by_row, torch.float32
    gathers = nnz * K * 4 / seconds(
        lambda: triton_sums._gathered(segments, pattern.indices, None, ones, table, kind)
    )  # fmt: skip
    a = torch.rand(8192, 8192, device=device)
    product = 2 * 8192**3 / seconds(lambda: a @ a)
    return {"copy": copy / 1e12, "gathers": gathers / 1e12, "product": product / 1e12}
